# SPDX-License-Identifier: LGPL-2.1-or-later
"""Events: what has left a belt, and why."""

import asyncio
import ctypes
import enum
import errno
import os
import select
import threading
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Generic, NamedTuple, TypeVar

from . import _abi
from ._device import Device, new_buffer
from ._library import library
from .serializer import Serializer

V = TypeVar("V")

_HEADER: Final = ctypes.sizeof(_abi.Event)


Waiters = list["asyncio.Future[None]"]


def _wake(waiters: Waiters) -> None:
    """Called in an event loop, when there may be events for its tasks that wait."""
    for ready in waiters:
        if not ready.done():
            ready.set_result(None)


def _wait_readable(device: Device) -> None:
    """Wait until the descriptor is readable. gevent and eventlet run other greenlets meanwhile."""
    with device.handle() as handle:
        fd = library.fd(handle)
        if hasattr(select, "poll"):
            poller = select.poll()
            poller.register(fd, select.POLLIN)
            poller.poll()
        else:
            # eventlet takes poll() away. Its select() has no largest descriptor.
            select.select([fd], [], [])


class Reason(enum.IntEnum):
    """The reason for which an entry has left the belt."""

    EXPIRED = _abi.EXPIRED
    EVICTED = _abi.EVICTED
    REPLACED = _abi.REPLACED
    REMOVED = _abi.REMOVED
    CLEARED = _abi.CLEARED
    PRESSURE = _abi.PRESSURE
    RELEASED = _abi.RELEASED


class Event(NamedTuple, Generic[V]):
    """An event.

    value is that of an entry; of a lock, it is the owner, in bytes. lost is the number of events
    that were dropped before they were read, since it was last reported. deadline is in seconds of
    belt time, or None if the entry would not have expired.
    """

    key: bytes
    value: V
    reason: Reason
    sequence: int
    lost: int
    version: int
    deadline: float | None
    is_lock: bool


class Events(Generic[V]):
    """The events of a belt, one after the other, for "for" and "async for".

    Each event goes to one reader. It has a descriptor of its own, which close(), "with" and the end
    of the process close. With ack, the event is acknowledged when the next one is asked for: events
    that were not go to another reader when the descriptor is closed. The belt has to report events
    ("hbctl set --on-expire notify"): else NoEvents is raised. Raises NotAllowed, NoBelt too.

    Threads and tasks may share it, but with ack each needs its own: any of them acknowledges the
    last event that was returned.
    """

    def __init__(self, device: Device, serializer: Serializer[V], ack: bool) -> None:
        """Begin to read: use Belt.events()."""
        self._serializer = serializer
        self._ack = ack
        self._device = Device(device.name, device.path, device.owner, os.O_NONBLOCK,
                              _abi.WATCH_ACK if ack else 0)
        self._room = new_buffer(_abi.EVENT_MAX)
        self._queue: deque[Event[V]] = deque()
        self._last = 0
        self._pid = os.getpid()
        # Around the queue and the room. A thread that waits for events has it, and there is no
        # event in the queue then.
        self._reading = threading.Lock()
        # The tasks that wait. Only the event loop changes its own.
        self._waiters: dict[asyncio.AbstractEventLoop, Waiters] = {}

    def __reduce__(self) -> Any:
        raise TypeError("events of a belt go to one reader, and are not copied or pickled: call "
                        "events() of the belt again")

    def fileno(self) -> int:
        """The descriptor, which is readable when there are events, for poll(2)."""
        return self._device.fd()

    def close(self) -> None:
        """Close the descriptor. Events that were not acknowledged are queued again.

        A task that waits for the next event gets ValueError.
        """
        self._device.close()
        self._queue.clear()
        self._wake_tasks()

    def __enter__(self) -> "Events[V]":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def acknowledge(self, event: Event[V]) -> None:
        """Acknowledge an event, and those that were returned before it. Raises Error."""
        self._device.call(_abi.CALL_ACK, library.ack, event.sequence)
        if event.sequence == self._last:
            self._last = 0

    def _make(self, data: bytes, place: int) -> tuple[Event[V], int]:
        """The event at a place of what was read, and its size in bytes."""
        raw = _abi.Event.from_buffer_copy(data, place)
        key_end = place + _HEADER + raw.key_len
        value: Any = data[key_end:key_end + raw.value_len]
        is_lock = raw.kind == _abi.LOCK
        if not is_lock:
            value = self._serializer.loads(value)
        deadline = None if raw.deadline_ns == 2 ** 64 - 1 else raw.deadline_ns / 1e9
        return Event(data[place + _HEADER:key_end], value, Reason(raw.reason), raw.sequence,
                     raw.lost, raw.version, deadline, is_lock), raw.size

    def _check_fork(self) -> None:
        """In a child of fork(), forget what belongs to the parent."""
        if self._pid != os.getpid():
            # The parent has read these.
            self._queue.clear()
            self._last = 0
            self._reading = threading.Lock()
            self._waiters = {}
            self._pid = os.getpid()

    def poll(self) -> Event[V] | None:
        """The next event, or None if none is queued now. Does not wait."""
        self._check_fork()
        # Another thread that reads, or that waits as there is no event, wakes the tasks that wait.
        if not self._reading.acquire(blocking=False):
            return None
        try:
            event = self._next()
        finally:
            self._reading.release()
        if self._queue:
            self._wake_tasks()
        return event

    def _next(self) -> Event[V] | None:
        """The next event, or None. The caller has the lock."""
        if self._ack and self._last:
            sequence, self._last = self._last, 0
            self._device.call(_abi.CALL_ACK, library.ack, sequence)
        if not self._queue and not self._read():
            return None
        event = self._queue.popleft()
        self._last = event.sequence
        return event

    def _wake_tasks(self) -> None:
        """Wake the tasks that wait: the descriptor does not tell them of events in the queue."""
        for loop, waiting in list(self._waiters.items()):
            with suppress(RuntimeError):    # a loop that is closed
                loop.call_soon_threadsafe(_wake, waiting)

    def _read(self) -> bool:
        """Read events. Returns whether there were any."""
        size = library.read(self._device.handle(), self._room, _abi.EVENT_MAX)
        if size == -errno.EAGAIN:
            return False
        if size < 0:
            raise self._device.error(size, _abi.CALL_READ)
        data = self._room[:size]
        place = 0
        while place < len(data):
            event, size = self._make(data, place)
            self._queue.append(event)
            place += size
        return True

    def __iter__(self) -> "Events[V]":
        return self

    def __next__(self) -> Event[V]:
        """Wait for the next event."""
        self._check_fork()
        with self._reading:
            event = self._next()
            while event is None:
                _wait_readable(self._device)
                event = self._next()
        if self._queue:
            self._wake_tasks()
        return event

    def __aiter__(self) -> "Events[V]":
        return self

    async def __anext__(self) -> Event[V]:
        """Wait for the next event, while the event loop runs other tasks."""
        event = self.poll()
        while event is None:
            event = await self._wait() or self.poll()
        return event

    async def _wait(self) -> Event[V] | None:
        """Wait until there may be an event, or return one. The descriptor stays open meanwhile."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        with self._device.handle() as handle:
            fd = library.fd(handle)
            waiting = self._waiters.setdefault(loop, [])
            if not waiting:
                loop.add_reader(fd, _wake, waiting)
            waiting.append(ready)
            try:
                # Another thread may have read before it could see this task.
                event = self.poll()
                if event is not None:
                    return event
                await ready
            finally:
                waiting.remove(ready)
                if not waiting:
                    loop.remove_reader(fd)
                    self._waiters.pop(loop, None)
        return None
