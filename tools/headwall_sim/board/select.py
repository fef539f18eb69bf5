# select.poll over virtual time: where asyncio waits, and so where the board tells whether time may jump.
from io import IOBase

import _link
from uselect import POLLERR, POLLHUP, POLLIN, POLLOUT  # noqa: F401

_MP_STREAM_POLL = 3


class poll:
    def __init__(self):
        self._real = _link.new_poller()
        self._own = {}  # objects of Python, as asyncio.ThreadSafeFlag: only an interrupt makes them ready

    def register(self, obj, eventmask=POLLIN | POLLOUT):
        if isinstance(obj, IOBase):
            self._own[id(obj)] = (obj, eventmask)
        else:
            self._real.register(obj, eventmask)

    def modify(self, obj, eventmask):
        if id(obj) in self._own:
            self._own[id(obj)] = (obj, eventmask)
        else:
            self._real.modify(obj, eventmask)

    def unregister(self, obj):
        if self._own.pop(id(obj), None) is None:
            self._real.unregister(obj)

    def poll(self, timeout=-1):
        until_us = _link.FOREVER if timeout < 0 else _link.now_us() + timeout * 1000
        while True:
            ready = self._ready_own()
            late = 0 <= until_us <= _link.now_us()
            ready += _link.wait(self._real, 0 if ready or late else until_us)
            ready = ready or self._ready_own()
            if ready or late:
                return ready

    def ipoll(self, timeout=-1, flags=0):
        return self.poll(timeout)

    def _ready_own(self):
        ready = []
        for obj, mask in self._own.values():
            events = obj.ioctl(_MP_STREAM_POLL, mask)
            if events:
                ready.append((obj, events))
        return ready
