"""Exact arithmetic on decimal text: on a board a float has 32 bits, seven digits, and a totalizer has ten."""


def parts(text):
    """Decimal text as (integer, number of decimals): "-1.50" -> (-150, 2)."""
    whole, _, part = text.partition(".")
    return int(whole + part), len(part)


def text_of(number, decimals):
    """The decimal text of number / 10**decimals, without needless zeros."""
    sign, digits = ("-", str(-number)) if number < 0 else ("", str(number))
    if not decimals:
        return sign + digits
    digits = "0" * (decimals + 1 - len(digits)) + digits
    whole, part = digits[:-decimals], digits[-decimals:].rstrip("0")
    return sign + whole + ("." + part if part else "")


def scaled(raw, scale, offset):
    """The decimal text of raw x scale + offset; raw an int, the others decimal text."""
    factor, decimals = parts(scale)
    more, places = parts(offset)
    deep = max(decimals, places)
    return text_of(raw * factor * 10 ** (deep - decimals) + more * 10 ** (deep - places), deep)
