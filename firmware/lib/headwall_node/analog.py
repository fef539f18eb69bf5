"""Voltages: the ESP32's own ADC, and what its readings have in common with those of an ADS1115.

The ESP32's ADC is linear from 150 to 2450 mV (attenuation 11 dB); `read_uv` corrects it by what was burnt into the chip
when it was made, to whole millivolts. Below and above it reads something, but not what is there.
"""

import machine


def board_adc(pin):
    """The ADC at a GPIO. ESP32: 32 to 39; the others stop while Wi-Fi runs."""
    return machine.ADC(machine.Pin(pin), atten=machine.ADC.ATTN_11DB)


def read_uv(adc, count):
    """The middle one of `count` readings in microvolts."""
    return middle([adc.read_uv() for _ in range(count)])


def middle(values):
    """The middle one of a list of numbers; of an even count the higher of the two."""
    return sorted(values)[len(values) // 2]


def rounded(number, divisor):
    """number / divisor as the nearest integer, a half away from zero."""
    half = abs(divisor) // 2
    if (number < 0) != (divisor < 0):
        return -((abs(number) + half) // abs(divisor))
    return (abs(number) + half) // abs(divisor)
