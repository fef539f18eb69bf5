# What asyncio takes from the C module _asyncio, whose queue reads the machine's tick counter: here by time.ticks_ms.
#
# _simboot puts it in the place of _asyncio, since the frozen asyncio.core has no Python code of its own for it.
# asyncio.core knows a task by coro, data, state and ph_key. `state` is True while the task runs and nobody
# waits for it, a TaskQueue of those who wait, or a callable that gather() put there; None and False when it has
# ended, False if somebody has had the result. `data` is, while it runs, what it waits on, or the exception
# to throw into it; after its end, the exception that ended it.
import sys
from time import ticks_diff, ticks_ms


def _core():
    return sys.modules["asyncio.core"]


class TaskQueue:
    # Tasks in the order of their keys (ticks), equal ones in the order of their coming. Nodes have few tasks: a list.
    def __init__(self):
        self._tasks = []

    def peek(self):
        return self._tasks[0] if self._tasks else None

    def push(self, task, key=None):
        task.data = None  # it waits for nothing but its turn
        task.ph_key = key = ticks_ms() if key is None else key
        tasks = self._tasks
        at = len(tasks)
        while at and ticks_diff(tasks[at - 1].ph_key, key) > 0:
            at -= 1
        tasks.insert(at, task)

    def pop(self):
        return self._tasks.pop(0)

    def remove(self, task):
        self._tasks.remove(task)


class Task:
    def __init__(self, coro, globals=None):
        self.coro = coro
        self.data = None
        self.state = True
        self.ph_key = 0

    def done(self):
        return not self.state

    def __iter__(self):
        if self.state is True:
            self.state = TaskQueue()
        elif not self.state:
            self.state = False
        elif not isinstance(self.state, TaskQueue):
            raise RuntimeError("can't wait")
        return self

    def __next__(self):
        if self.state:
            waiter = _core().cur_task
            self.state.push(waiter)
            waiter.data = self  # so that cancelling the one who waits finds what it waits for
        elif self.data is None:
            raise StopIteration  # its exception was the loop's handler's
        else:
            raise self.data

    def cancel(self):
        core = _core()
        if self.done():
            return False
        if self is core.cur_task:
            raise RuntimeError("can't cancel self")
        inner = self
        while isinstance(inner.data, Task):
            inner = inner.data
        queue = core._task_queue
        if hasattr(inner.data, "remove"):  # waits for an event, a lock or a stream
            inner.data.remove(inner)
            queue.push(inner)
        elif ticks_diff(inner.ph_key, ticks_ms()) > 0:  # sleeps
            queue.remove(inner)
            queue.push(inner)
        inner.data = core.CancelledError
        return True
