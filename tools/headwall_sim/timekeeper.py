"""The thread that keeps a simulation's time: it hears every participant, and jumps when none has work.

Time runs 1:1 with the machine while a participant is awake. When all are idle it jumps to the earliest instant
that anyone waits for, a timer of `at()` included. Whatever was sent before the last participant became idle is
heard before a jump, so that "awake" from a gateway cannot be overtaken by "idle" from the board that caused it.
All state belongs to the one thread; others reach it through call_soon().
"""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import selectors
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from headwall_sim.frames import FOREVER, monotonic_us

_log = logging.getLogger("headwall_sim.clock")


@dataclass(eq=False)
class Participant:
    """Someone the clock must not leave behind.

    Attributes:
        name: for warnings.
        go: called to end an idle episode with (offset, episode); OSError or ValueError means that it is gone.
        jumped: called with the new offset when the clock jumps while this one stays idle; None where unneeded.
        ask: called when it has been awake for long, to have it say why; None where it cannot.
    """

    name: str
    go: Callable[[int, int], None]
    jumped: Callable[[int], None] | None = None
    ask: Callable[[], None] | None = None
    awake: bool = True
    until_us: int = FOREVER
    episode: int = 0
    awake_since: int = field(default_factory=monotonic_us)
    warned: bool = False


@dataclass(order=True)
class Timer:
    """A call that is due at a simulated instant; cancel() takes it back."""

    due_us: int
    order: int
    call: Callable[[], None] | None = field(compare=False)

    def cancel(self) -> None:
        self.call = None


class Timekeeper:
    """See the module's docstring.

    Args:
        start_us: the simulated instant at which time begins to run, microseconds since 1970 UTC.
        jumps: False keeps time at 1:1 with the machine for good.
        stall_s: real seconds after which a participant that stays awake is named in a warning.
        on_failure: called when an exception in one of the calls has ended the thread, so that nobody waits for ever.
    """

    def __init__(
        self, start_us: int, *, jumps: bool = True, stall_s: float = 30.0, on_failure: Callable[[], None] = lambda: None
    ) -> None:
        self.offset_us = start_us - monotonic_us()
        self.jumps = jumps
        self.jump_count = 0
        self._stall_us = int(stall_s * 1e6)
        self._participants: list[Participant] = []
        self._timers: list[Timer] = []
        self._order = itertools.count()
        self._calls: deque[Callable[[], None]] = deque()
        self._selector = selectors.DefaultSelector()
        self._bell_out, self._bell_in = os.pipe()
        os.set_blocking(self._bell_in, False)
        self._selector.register(self._bell_out, selectors.EVENT_READ, lambda: os.read(self._bell_out, 4096))
        self._stopping = False
        self._failed = False
        self._on_failure = on_failure
        self._thread = threading.Thread(target=self._live, name="sim-clock", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; not from within it. Whoever waits for the clock is not woken."""

        def end() -> None:
            self._stopping = True

        self.call_soon(end)
        self._thread.join()
        self._selector.close()
        os.close(self._bell_in)
        os.close(self._bell_out)

    def is_alive(self) -> bool:
        """False before start, after stop, and after a failure."""
        return self._thread.is_alive() and not self._failed

    def now_us(self) -> int:
        """The simulated instant."""
        return monotonic_us() + self.offset_us

    def call_soon(self, call: Callable[[], None]) -> None:
        """Run `call` in the clock's thread before time can jump again. Any thread may call this."""
        self._calls.append(call)
        try:
            os.write(self._bell_in, b"!")
        except BlockingIOError:
            pass  # the pipe is full of rings not yet heard: one more changes nothing

    def run(self, call: Callable[[], None]) -> None:
        """Run `call` in the clock's thread and wait until it has; an exception in it is raised here."""
        if threading.current_thread() is self._thread:
            call()
            return
        done = threading.Event()
        raised: list[BaseException] = []

        def guarded() -> None:
            try:
                call()
            except BaseException as error:
                raised.append(error)
            finally:
                done.set()

        self.call_soon(guarded)
        while not done.wait(1.0):
            if not self.is_alive():
                raise RuntimeError("the simulation's clock has stopped; nothing can be asked of it any more")
        if raised:
            raise raised[0]

    def at(self, due_us: int, call: Callable[[], None]) -> Timer:
        """Run `call` in the clock's thread when the simulated instant has come. Any thread may call this."""
        timer = Timer(due_us, next(self._order), call)
        if threading.current_thread() is self._thread:
            heapq.heappush(self._timers, timer)
        else:
            self.call_soon(lambda: heapq.heappush(self._timers, timer))
        return timer

    # what follows is for the clock's thread alone

    def join(self, participant: Participant) -> Participant:
        self._participants.append(participant)
        return participant

    def leave(self, participant: Participant) -> None:
        if participant in self._participants:
            self._participants.remove(participant)

    def participants(self) -> list[Participant]:
        return list(self._participants)

    def watch(self, fd: int, call: Callable[[], object]) -> None:
        """Call `call` whenever `fd` can be read."""
        self._selector.register(fd, selectors.EVENT_READ, call)

    def unwatch(self, fd: int) -> None:
        try:
            self._selector.unregister(fd)
        except KeyError:
            pass  # already gone: both ends of a link may report its end

    def idle(self, participant: Participant, until_us: int, episode: int) -> None:
        participant.awake = False
        participant.until_us = until_us
        participant.episode = episode

    def awake(self, participant: Participant, episode: int) -> None:
        """End its idle episode, unless a GO for it is already under way."""
        if not participant.awake and participant.episode == episode:
            self._wake(participant)

    def _wake(self, participant: Participant) -> None:
        participant.awake = True
        participant.awake_since = monotonic_us()
        participant.warned = False
        try:
            participant.go(self.offset_us, participant.episode)
        except (OSError, ValueError):
            self.leave(participant)

    def _live(self) -> None:
        try:
            self._run()
        except Exception:
            self._failed = True
            _log.exception("the simulated clock has failed and stands still from now on")
            self._on_failure()

    def _run(self) -> None:
        while not self._stopping:
            self._hear(self._patience_s())
            while self._hear(0):
                pass
            self._wake_due()
            if self._may_jump():
                self._jump()
            self._warn_of_stalls()

    def _hear(self, timeout_s: float) -> bool:
        """Handle what is ready; True if there was anything."""
        ready = self._selector.select(timeout_s)
        for key, _ in ready:
            if self._selector.get_map().get(key.fd) is key:  # a call before may have closed this one
                key.data()
        heard = bool(ready or self._calls)
        while self._calls:
            self._calls.popleft()()
        return heard

    def _next_due_us(self) -> int | None:
        while self._timers and self._timers[0].call is None:
            heapq.heappop(self._timers)
        dues = [each.until_us for each in self._participants if not each.awake and each.until_us != FOREVER]
        if self._timers:
            dues.append(self._timers[0].due_us)
        return min(dues, default=None)

    def _patience_s(self) -> float:
        due_us = self._next_due_us()
        if self._calls or (due_us is not None and self._may_jump()):
            return 0.0
        wait_us = 1_000_000 if due_us is None else min(1_000_000, max(0, due_us - self.now_us()))
        return wait_us / 1e6

    def _may_jump(self) -> bool:
        return self.jumps and not self._calls and not any(each.awake for each in self._participants)

    def _wake_due(self) -> None:
        while self._timers and self._timers[0].due_us <= self.now_us():
            call = heapq.heappop(self._timers).call
            if call is not None:
                call()
        now_us = self.now_us()
        for participant in self.participants():
            if not participant.awake and participant.until_us != FOREVER and participant.until_us <= now_us:
                self._wake(participant)

    def _jump(self) -> None:
        due_us = self._next_due_us()
        if due_us is None:
            return
        ahead_us = due_us - self.now_us()
        if ahead_us > 0:
            self.offset_us += ahead_us
            self.jump_count += 1
            for participant in self.participants():
                if participant.jumped is not None and participant.until_us != due_us:
                    self._tell_jump(participant)
        self._wake_due()

    def _tell_jump(self, participant: Participant) -> None:
        assert participant.jumped is not None
        try:
            participant.jumped(self.offset_us)
        except OSError:
            self.leave(participant)

    def _warn_of_stalls(self) -> None:
        now = monotonic_us()
        for participant in self._participants:
            if participant.awake and not participant.warned and now - participant.awake_since > self._stall_us:
                participant.warned = True
                _log.warning(
                    "%s has kept the simulated clock at 1:1 for %.0f s", participant.name, self._stall_us / 1e6
                )
                if participant.ask is not None:
                    participant.ask()
