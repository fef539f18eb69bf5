"""How the board goes to sleep, and why it has started."""

import machine


def reset_cause():
    """A word of the contract. The port reports a brown-out as power-on or watchdog."""
    cause = machine.reset_cause()
    names = ("PWRON_RESET", "HARD_RESET", "WDT_RESET", "DEEPSLEEP_RESET", "SOFT_RESET")
    for name, word in zip(names, ("power_on", "hard", "watchdog", "deep_sleep", "soft")):
        if cause == getattr(machine, name, None):
            return word
    return "power_on"


def woken_by():
    """Index of the contact whose closing ended the deep sleep: 0, 1 (see `deep_sleep`), or None."""
    if reset_cause() != "deep_sleep":
        return None
    reason = machine.wake_reason()
    if reason == getattr(machine, "EXT0_WAKE", machine.PIN_WAKE):
        return 0
    if reason == getattr(machine, "EXT1_WAKE", 3):
        return 1
    return None


def deep_sleep(ms, contacts=()):
    """Sleep until `ms` have passed or one of `contacts` closes; does not return, the board starts anew.

    contacts: up to two of (pin, level when closed), in the order of the gauges. The ESP32 wakes on a level,
    not on an edge: a contact that is closed now would wake it at once and for ever, so it is left to the timer, as
    is one whose level is given as None.
    A contact that closes high as second one needs the ESP32's ext1 "any high"; "all low" serves one that closes low.
    """
    import esp32

    for i, (pin, level) in enumerate(contacts[:2]):
        if level is None or pin.value() == level:
            continue
        if i == 0:
            esp32.wake_on_ext0(pin=pin, level=level)
        else:
            esp32.wake_on_ext1(pins=(pin,), level=esp32.WAKEUP_ANY_HIGH if level else esp32.WAKEUP_ALL_LOW)
    machine.deepsleep(max(1, ms))
