# select.poll over virtual time: where asyncio waits, and so where the board tells whether time may jump.
#
# The port's own poll takes a millisecond for every look, even one without waiting, when a TLS object is among what it
# looks at. So a TLS object is asked only when there is reason to doubt: when it is registered (it may hold decrypted
# bytes already), when the socket below it has something, and for as long as somebody wants to write to it.
from io import IOBase

import _link
import uselect
from uselect import POLLERR, POLLHUP, POLLIN, POLLOUT  # noqa: F401

_MP_STREAM_POLL = 3
_TLS_LOOK_US = 1000
_below = []  # (id of a TLS object, the socket below it) of the last connections
_tls_type = None


def follow(context):
    # Have ssl.SSLContext tell of each TLS object that it makes.
    plain = context.wrap_socket

    def wrap_socket(self, sock, *args, **kwargs):
        global _tls_type
        tls = plain(self, sock, *args, **kwargs)
        _tls_type = type(tls)
        _below[:] = [pair for pair in _below[-3:] if pair[0] != id(tls)]
        _below.append((id(tls), sock))
        return tls

    context.wrap_socket = wrap_socket


def _socket_below(obj):
    if _tls_type and isinstance(obj, _tls_type):
        for number, sock in _below:
            if number == id(obj):
                return sock
    return None


class poll:
    def __init__(self):
        self._files = _link.new_poller()  # what has a file descriptor
        self._own = {}  # objects of Python, as asyncio.ThreadSafeFlag: only an interrupt makes them ready
        self._tls = uselect.poll()
        self._masks = {}  # id of a TLS object -> its event mask
        self._doubt = False

    def register(self, obj, eventmask=POLLIN | POLLOUT):
        if isinstance(obj, IOBase):
            self._own[id(obj)] = (obj, eventmask)
            return
        sock = _socket_below(obj)
        if sock is None:
            self._files.register(obj, eventmask)
            return
        self._files.register(sock, POLLIN)
        self._tls.register(obj, eventmask)
        self._masks[id(obj)] = eventmask
        self._doubt = True

    def modify(self, obj, eventmask):
        self.register(obj, eventmask)

    def unregister(self, obj):
        if self._own.pop(id(obj), None):
            return
        if self._masks.pop(id(obj), None) is None:
            self._files.unregister(obj)
            return
        self._tls.unregister(obj)
        sock = _socket_below(obj)
        if sock is not None:
            self._files.unregister(sock)

    def poll(self, timeout=-1):
        until_us = _link.FOREVER if timeout < 0 else _link.now_us() + timeout * 1000
        while True:
            ready = self._look()
            late = 0 <= until_us <= _link.now_us()
            for item in _link.wait(self._files, self._next_look_us(until_us) if not (ready or late) else 0):
                if self._is_below(item[0]):
                    self._doubt = True
                else:
                    ready.append(item)
            ready = ready or self._look()
            if ready or late:
                return ready

    def ipoll(self, timeout=-1, flags=0):
        return self.poll(timeout)

    def _look(self):
        # What is ready of the objects that have no file descriptor.
        ready = []
        for obj, mask in self._own.values():
            events = obj.ioctl(_MP_STREAM_POLL, mask)
            if events:
                ready.append((obj, events))
        if self._doubt:
            before = len(ready)
            for item in self._tls.ipoll(0):
                ready.append((item[0], item[1]))
            self._doubt = len(ready) > before
        return ready

    def _next_look_us(self, until_us):
        # A TLS object that is to be written to may wait for bytes to read: nobody else knows.
        for mask in self._masks.values():
            if mask & POLLOUT:
                self._doubt = True
                soon_us = _link.now_us() + _TLS_LOOK_US
                return soon_us if until_us < 0 or until_us > soon_us else until_us
        return until_us

    def _is_below(self, obj):
        for number, sock in _below:
            if sock is obj:
                return number in self._masks
        return False
