# select.poll without files: where asyncio waits, virtual time passes.
import time

POLLIN, POLLOUT, POLLERR, POLLHUP = 1, 4, 8, 16


class poll:
    def __init__(self):
        self._objects = []

    def register(self, obj, mask=POLLIN | POLLOUT):
        self._objects.append((obj, mask))

    modify = register

    def unregister(self, obj):
        self._objects = [pair for pair in self._objects if pair[0] is not obj]

    def ipoll(self, ms=-1, flags=0):
        ready = [(obj, obj.ioctl(3, mask)) for obj, mask in self._objects]
        ready = [pair for pair in ready if pair[1]]
        if not ready and ms < 0:
            raise RuntimeError("everything waits for ever")
        if not ready:
            time.sleep_ms(ms)
        return ready

    poll = ipoll
