"""Code that is needed seldom: loaded, used, forgotten. So the parts of a node that are not needed at one time share one
room, and all together need not fit the heap (docs/decisions/0014).

What comes in with such a module goes with it, what was there before stays: so a module that keeps something, as power
does, is never first imported by such a one.
"""

import asyncio
import gc
import sys

_PACKAGE = __name__[: __name__.rfind(".") + 1]

#: held while much memory is in use, by a reading or by a handshake: one at a time has the room
turn = asyncio.Lock()


def load(name):
    """(a module of this package, the names of all modules that came with it)."""
    gc.collect()  # so that it lies where the one before it lay, and not behind its garbage
    there = set(sys.modules)
    try:
        __import__(_PACKAGE + name)
    except BaseException:
        forget(new_since(there))
        raise
    return sys.modules[_PACKAGE + name], new_since(there)


def new_since(there):
    """Names of the modules that are not in `there`."""
    return [name for name in sys.modules if name not in there]


def forget(names):
    """Drop modules; whoever runs in one of them still, as a coroutine, has it until its end."""
    for name in names:
        del sys.modules[name]
        at = name.rfind(".")
        if name[:at] in sys.modules:
            sys.modules[name[:at]].__dict__.pop(name[at + 1 :], None)


def call(name, function, *args):
    """What a function of module `name` gives; all that was imported for it is forgotten when it returns.

    Of a coroutine that is before it runs: what it imports only then stays.
    """
    there = set(sys.modules)
    try:
        return getattr(load(name)[0], function)(*args)
    finally:
        forget(new_since(there))


def install(name, function, *args):
    """As call(), but everything except the module itself stays."""
    __import__(_PACKAGE + name)
    function = getattr(sys.modules[_PACKAGE + name], function)
    forget([_PACKAGE + name])
    return function(*args)


def make(name, *args):
    """(the Driver of module `name`, the names of all modules that came when it was made)."""
    there = set(sys.modules)
    try:
        driver = load(name)[0].Driver(*args)
    except BaseException:
        forget(new_since(there))
        raise
    return driver, new_since(there)
