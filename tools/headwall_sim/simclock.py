"""headwall's Clock in a simulation: SimClock keeps the time, RemoteClock follows it from another process.

A process that uses a clock is idle only while none of its busy() contexts is open and every thread that has ever
called wait() is in wait() again (or has ended). It wakes at the earliest of those waits, or when the event of one is
set. A thread that returns from wait() therefore keeps simulated time at 1:1 until it waits again: it need not
be quick to open its busy(). A thread that will not wait any more, but lives on, calls leave().

A test drives time from its own thread:

    clock = SimClock(start_us=to_us(datetime(2026, 6, 9, tzinfo=UTC)))
    clock.serve(folder / "clock.sock")          # for `headwall run` with clock = "simulation:…/clock.sock"
    clock.run_until(clock.now_us() + 3600 * 10**6)
"""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headwall.clock import Clock, SystemClock
from headwall.errors import ConfigurationError, HeadwallError

from headwall_sim import frames
from headwall_sim.frames import FOREVER, FRAME, Frame, monotonic_us
from headwall_sim.timekeeper import Participant, Timekeeper

_log = logging.getLogger("headwall_sim.clock")
_SIMULATION = "simulation:"
_LONGEST_WAIT_S = 3600.0
_LOOK_AGAIN_S = 0.25


class ClockGoneError(HeadwallError):
    """The simulation that kept the time has ended, so that nothing here can know the time any more."""


def clock_from(setting: str) -> Clock:
    """The clock that the setting `clock` names: "system", or "simulation:SOCKET" for the socket of SimClock.serve().

    Raises:
        ConfigurationError: the setting is neither.
        ClockGoneError: nobody listens at the socket.
    """
    if setting == "system":
        return SystemClock()
    if setting.startswith(_SIMULATION):
        return RemoteClock(Path(setting.removeprefix(_SIMULATION)))
    raise ConfigurationError("settings", [f'clock = "{setting}" is unknown; write "system" or "simulation:SOCKET"'])


class _Wait:
    """One thread inside wait()."""

    def __init__(self, event: threading.Event, until_us: int | None) -> None:
        self.event = event
        self.until_us = until_us

    def due(self, now_us: int) -> bool:
        return self.event.is_set() or (self.until_us is not None and self.until_us <= now_us)


class ClockClient:
    """A participant that speaks frames over a connected stream socket and implements headwall's Clock.

    Args:
        connection: to the clock's thread; owned from now on.
        name: what a warning about a stalled clock calls this process.
        where: what an error about a clock that is gone calls it.
    """

    def __init__(self, connection: socket.socket, name: str, where: str) -> None:
        self._socket = connection
        self._where = where
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._offset_us: int | None = None
        self._idle = False
        self._episode = 0
        self._told_until = FOREVER
        self._gone = False
        self._busy: dict[object, str] = {}
        self._threads: dict[threading.Thread, _Wait | None] = {}
        self._used = False  # a process that still starts up has work
        encoded = name.encode()
        self._send(Frame(frames.HELLO, len(encoded)), encoded)
        threading.Thread(target=self._listen, name=f"clock-of-{name}", daemon=True).start()
        with self._changed:
            self._changed.wait_for(lambda: self._gone or self._offset_us is not None)
            self._check()

    def close(self) -> None:
        """Take no further part."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def now_us(self) -> int:
        offset_us = self._offset_us
        assert offset_us is not None
        return monotonic_us() + offset_us

    def wait(self, wake: threading.Event, until_us: int | None) -> bool:
        """See headwall.clock.Clock. Makes the calling thread one that the clock waits for.

        Raises:
            ClockGoneError: the simulation has ended.
        """
        me = threading.current_thread()
        this = _Wait(wake, until_us)
        with self._lock:
            self._threads[me] = this
            self._used = True
            self._consider()
        try:
            while not this.due(self.now_us()):
                self._block(this)
                if self._gone:
                    break
        finally:
            with self._lock:
                self._threads[me] = None
                self._be_awake()
        return wake.is_set()

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """See headwall.clock.Clock. Contexts may nest and overlap over threads."""
        token = object()
        with self._lock:
            self._busy[token] = what
            self._used = True
            self._be_awake()
        try:
            yield
        finally:
            with self._lock:
                del self._busy[token]
                self._consider()

    def leave(self) -> None:
        """The calling thread will not wait again for now: the clock need not wait for it."""
        with self._lock:
            self._threads.pop(threading.current_thread(), None)
            self._used = True
            self._consider()

    def _block(self, wait: _Wait) -> None:
        """Sleep until the event is set, the time has come by the present offset, or _nudge() has us look again."""
        condition = _condition(wait.event)
        with condition:
            if not self._gone and not wait.due(self.now_us()):
                condition.wait(self._real_seconds(wait.until_us))

    def _real_seconds(self, until_us: int | None) -> float:
        if until_us is None:
            return _LONGEST_WAIT_S
        return min(_LONGEST_WAIT_S, max(0.0, (until_us - self.now_us()) / 1e6))

    # what follows is called with the lock held

    def _consider(self) -> None:
        """Become idle if nothing here has work; if already idle, tell of an earlier wake time."""
        for thread in [each for each in self._threads if not each.is_alive()]:
            del self._threads[thread]
        waits = list(self._threads.values())
        now_us = self.now_us()
        if self._gone or not self._used or self._busy or any(wait is None or wait.due(now_us) for wait in waits):
            return
        until_us = min((wait.until_us for wait in waits if wait and wait.until_us is not None), default=FOREVER)
        if self._idle and until_us == self._told_until:
            return
        self._idle = True
        self._told_until = until_us
        self._episode += 1
        self._send(Frame(frames.IDLE, until_us, self._episode))

    def _be_awake(self) -> None:
        """Return once the clock knows that this process has work, and this process knows the time."""
        if self._idle:
            self._send(Frame(frames.AWAKE, 0, self._episode))
            self._changed.wait_for(lambda: self._gone or not self._idle)
        self._check()

    def _check(self) -> None:
        if self._gone:
            raise ClockGoneError(f"the simulated clock at {self._where} has gone; end this process and start anew")

    def _why(self) -> str:
        running = [f"thread {thread.name} has not come back to wait()" for thread, w in self._threads.items() if not w]
        return "; ".join([*(f"busy with {what}" for what in self._busy.values()), *running]) or "about to be idle"

    def _send(self, frame: Frame, payload: bytes = b"") -> None:
        try:
            self._socket.sendall(frame.pack() + payload)
        except OSError:
            self._gone = True

    # what follows runs in a thread of its own

    def _listen(self) -> None:
        while True:
            if not select.select([self._socket], [], [], _LOOK_AGAIN_S)[0]:
                with self._lock:
                    self._consider()  # a thread may have ended without a word
                continue
            data = _receive_exactly(self._socket, FRAME.size)
            if data is None:
                break
            frame = frames.unpack(data)
            with self._changed:
                if frame.op == frames.GO and frame.b == self._episode:
                    self._offset_us = frame.a
                    self._idle = False
                    self._rouse()
                elif frame.op == frames.JUMP:
                    self._offset_us = frame.a
                elif frame.op == frames.ASK:
                    why = self._why().encode()
                    self._send(Frame(frames.WHY, len(why)), why)
        with self._changed:
            self._gone = True
            self._rouse()

    def _rouse(self) -> None:
        """Make every thread that waits for an instant look at the clock again.

        Those whose time has not come too: they reckoned their sleep before the jumps of the idle episode, and until
        the next one nothing else would wake them.
        """
        self._changed.notify_all()
        for wait in self._threads.values():
            if wait is not None and (self._gone or wait.until_us is not None):
                _nudge(wait.event)


class RemoteClock(ClockClient):
    """A clock kept by SimClock.serve(path) in another process.

    Raises:
        ClockGoneError: nobody listens at the socket.
    """

    def __init__(self, path: Path, name: str = "gateway") -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(path))
        except OSError as error:
            connection.close()
            raise ClockGoneError(
                f"no simulated clock listens at {path} ({error.strerror}); start the simulation first, "
                'or set clock = "system"'
            ) from error
        super().__init__(connection, name, str(path))


class SimClock(ClockClient):
    """Keeps the simulated time, and is a Clock for the process that keeps it.

    The thread that makes it drives it: time does not jump but within that thread's run_until() and wait(), unless
    it calls leave().

    Args:
        start_us: where simulated time begins, microseconds since 1970 UTC.
        jumps: False never jumps: simulated time is the machine's, with an offset.
        stall_s: real seconds after which a participant that stays awake is named in a warning.
    """

    def __init__(self, start_us: int, *, jumps: bool = True, stall_s: float = 30.0, name: str = "supervisor") -> None:
        self._connections: set[_Connection] = set()
        self.keeper = Timekeeper(start_us, jumps=jumps, stall_s=stall_s, on_failure=self._hang_up)
        self.keeper.start()
        self._listener: socket.socket | None = None
        self._path: Path | None = None
        here, there = socket.socketpair()
        self.keeper.run(lambda: _Connection(self.keeper, there, self._connections).begin())
        super().__init__(here, name, "this process")
        self._threads[threading.current_thread()] = None

    def serve(self, path: Path) -> None:
        """Let other processes follow through a Unix socket (its path may have at most about 100 bytes)."""
        path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._path = path
        self.keeper.run(lambda: self.keeper.watch(self._listening().fileno(), self._accept))

    def run_until(self, until_us: int) -> None:
        """Let simulated time pass until `until_us`. Time goes on at 1:1 afterwards, until the next call."""
        self.wait(threading.Event(), until_us)

    def run_while(self, condition: Callable[[], bool], until_us: int, step_us: int = 1_000_000) -> bool:
        """Let time pass until `condition` is false (True) or `until_us` has come (False), asking every `step_us`."""
        while condition():
            if self.now_us() >= until_us:
                return False
            self.run_until(min(until_us, self.now_us() + step_us))
        return True

    def names(self) -> list[str]:
        """Who takes part now."""
        found: list[str] = []
        self.keeper.run(lambda: found.extend(each.name for each in self.keeper.participants()))
        return found

    def stop(self) -> None:
        """End the simulation; other processes that still wait get ClockGoneError."""
        if self.keeper.is_alive():
            self.keeper.run(self._hang_up)
        self.keeper.stop()
        if self._listener is not None and self._path is not None:
            self._listener.close()
            self._path.unlink(missing_ok=True)

    def _hang_up(self) -> None:
        for connection in list(self._connections):
            connection.end()

    def _listening(self) -> socket.socket:
        assert self._listener is not None
        return self._listener

    def _accept(self) -> None:
        connection, _ = self._listening().accept()
        _Connection(self.keeper, connection, self._connections).begin()


class _Connection:
    """The clock's end of a participant on a socket; lives in the clock's thread."""

    def __init__(self, keeper: Timekeeper, connection: socket.socket, register: set[_Connection]) -> None:
        self._keeper = keeper
        self._register = register
        self._socket = connection
        self._buffer = bytearray()
        self._participant: Participant | None = None

    def begin(self) -> None:
        self._register.add(self)
        self._keeper.watch(self._socket.fileno(), self._read)

    def _read(self) -> None:
        try:
            data = self._socket.recv(4096)
        except OSError:
            data = b""
        if not data:
            self.end()
            return
        self._buffer += data
        while len(self._buffer) >= FRAME.size:
            frame = frames.unpack(bytes(self._buffer[: FRAME.size]))
            size = FRAME.size + (frame.a if frame.op in (frames.HELLO, frames.WHY) else 0)
            if len(self._buffer) < size:
                return
            payload = bytes(self._buffer[FRAME.size : size]).decode()
            del self._buffer[:size]
            self._take(frame, payload)

    def _take(self, frame: Frame, payload: str) -> None:
        participant = self._participant
        if frame.op == frames.HELLO:
            self._participant = self._keeper.join(Participant(payload, self._go, self._jumped, self._ask))
            self._go(self._keeper.offset_us, 0)
        elif participant is None:
            self.end()
        elif frame.op == frames.IDLE:
            self._keeper.idle(participant, frame.a, frame.b)
        elif frame.op == frames.AWAKE:
            self._keeper.awake(participant, frame.b)
        elif frame.op == frames.WHY:
            _log.warning("%s is awake: %s", participant.name, payload)

    def end(self) -> None:
        self._register.discard(self)
        self._keeper.unwatch(self._socket.fileno())
        self._socket.close()
        if self._participant is not None:
            self._keeper.leave(self._participant)

    def _go(self, offset_us: int, episode: int) -> None:
        self._socket.sendall(Frame(frames.GO, offset_us, episode).pack())

    def _jumped(self, offset_us: int) -> None:
        self._socket.sendall(Frame(frames.JUMP, offset_us).pack())

    def _ask(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.sendall(Frame(frames.ASK).pack())


def _receive_exactly(connection: socket.socket, size: int) -> bytes | None:
    """`size` bytes, or None when the connection has ended."""
    data = b""
    while len(data) < size:
        try:
            more = connection.recv(size - len(data))
        except OSError:
            return None
        if not more:
            return None
        data += more
    return data


def _condition(event: threading.Event) -> threading.Condition:
    """What threads in event.wait() sleep on: an Event has no public way to be woken without being set.

    The attribute has had this name since Python 3.3.
    """
    condition: threading.Condition = event._cond  # type: ignore[attr-defined]
    return condition


def _nudge(event: threading.Event) -> None:
    """Wake the threads in wait() on `event` without setting it: they look at the clock, and wait on."""
    condition = _condition(event)
    with condition:
        condition.notify_all()
