"""Rules that a settings file is checked by: key -> (type, default, lowest, highest, unit).

For text lowest and highest count characters, for a list entries; for a choice the third place lists it. A default of
None means: must be given.
"""

import json


def items(given, key):
    """The list under a key; empty for anything else."""
    found = given.get(key)
    return found if isinstance(found, list) else []


def faults(where, given, spec):
    """Every fault of an object against its rules, as sentences that name the key behind `where`."""
    if not isinstance(given, dict):
        return ["%s must be an object, not %s" % (where.rstrip("."), json.dumps(given))]
    found = ["%s%s is not a setting" % (where, key) for key in given if key not in spec]
    for key, (kind, default, low, high, unit) in spec.items():
        if key in given:
            fault = _fault(given[key], kind, low, high, unit)
            if fault:
                found.append("%s%s %s" % (where, key, fault))
        elif default is None:
            found.append("%s%s is missing" % (where, key))
    return found


def _fault(value, kind, low, high, unit):
    """What is wrong with one value, or None."""
    if kind == "choice":
        return (
            None if value in low else "is %s; one of: %s" % (json.dumps(value), ", ".join([str(each) for each in low]))
        )
    if kind == "list":
        if not isinstance(value, list):
            return "must be a list"
        return None if low <= len(value) <= high else "has %d entries; %d to %d are possible" % (len(value), low, high)
    if kind is str:
        if not isinstance(value, str):
            return "must be text"
        return (
            None if low <= len(value) <= high else "has %d characters; %d to %d are possible" % (len(value), low, high)
        )
    if not isinstance(value, int) or isinstance(value, bool):
        return "is %s; it must be a whole number" % json.dumps(value)
    return None if low <= value <= high else "is %d; possible: %d to %d %s" % (value, low, high, unit)


def filled(given, spec):
    """The object with every default filled in."""
    return {key: given[key] if key in given else rule[1] for key, rule in spec.items()}
