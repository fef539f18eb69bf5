"""What one task waits for, with a limit: an asyncio.Event under wait_for_ms would make a task for each wait, some 700
bytes that stand for as long as it waits, and every task of the node waits nearly always.
"""

from asyncio import core


class Bell:
    """set(): rings, and stays so until clear(). For one waiting task; not to be set by an interrupt."""

    def __init__(self):
        self._rung = False
        self._waiting = None

    def clear(self):
        self._rung = False

    def set(self):
        self._rung = True
        task, self._waiting = self._waiting, None
        if task is not None and task.data is None:  # else somebody has cancelled it
            core._task_queue.remove(task)
            core._task_queue.push(task)

    async def wait_ms(self, ms):
        """Wait until it rings, at most `ms`; whether it has rung."""
        if not self._rung:
            self._waiting = core.cur_task
            try:
                await core.sleep_ms(ms)
            finally:
                self._waiting = None
        return self._rung
