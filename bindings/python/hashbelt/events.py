# SPDX-License-Identifier: LGPL-2.1-or-later
"""Events: what has left a belt, and why."""

import asyncio
import ctypes
import enum
import errno
import os
import select
from collections import deque
from types import TracebackType
from typing import Any, Final, Generic, NamedTuple, TypeVar

from . import _abi
from ._device import Device, new_buffer
from ._library import library
from .serializer import Serializer

V = TypeVar("V")

_HEADER: Final = ctypes.sizeof(_abi.Event)


def _wake(ready: "asyncio.Future[None]") -> None:
    """Called when the descriptor is readable."""
    if not ready.done():
        ready.set_result(None)


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

    def fileno(self) -> int:
        """The descriptor, which is readable when there are events, for poll(2)."""
        return self._device.fd()

    def close(self) -> None:
        """Close the descriptor. Events that were not acknowledged are queued again."""
        self._device.close()
        self._queue.clear()

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

    def poll(self) -> Event[V] | None:
        """The next event, or None if none is queued now. Does not wait."""
        if self._pid != os.getpid():
            # The parent has read these.
            self._queue.clear()
            self._last = 0
            self._pid = os.getpid()
        if self._ack and self._last:
            sequence, self._last = self._last, 0
            self._device.call(_abi.CALL_ACK, library.ack, sequence)
        if not self._queue and not self._read():
            return None
        event = self._queue.popleft()
        self._last = event.sequence
        return event

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
        while True:
            event = self.poll()
            if event is not None:
                return event
            poller = select.poll()
            poller.register(self._device.fd(), select.POLLIN)
            poller.poll()

    def __aiter__(self) -> "Events[V]":
        return self

    async def __anext__(self) -> Event[V]:
        """Wait for the next event, while the event loop runs other tasks."""
        while True:
            event = self.poll()
            if event is not None:
                return event
            loop = asyncio.get_running_loop()
            ready: asyncio.Future[None] = loop.create_future()
            fd = self._device.fd()
            loop.add_reader(fd, _wake, ready)
            try:
                await ready
            finally:
                loop.remove_reader(fd)
