# SPDX-License-Identifier: LGPL-2.1-or-later
"""Requests: futures of asyncio that wait for a key, without a thread."""

import asyncio
import ctypes
import enum
import errno
import itertools
import os
from typing import Final, NamedTuple

from . import _abi
from ._device import Device, address, new_buffer
from ._library import library

_HEADER: Final = ctypes.sizeof(_abi.Event)
# Room for the ends of some requests, bytes. Their events have a key at most.
_ROOM: Final = 16384


class Cause(enum.IntEnum):
    """The cause that has ended a request."""

    TIMEOUT = _abi.BY_TIMEOUT
    EVICTION = _abi.BY_EVICTION
    PUT = _abi.BY_PUT
    COMPLETE = _abi.BY_COMPLETE
    CLEAR = _abi.BY_CLEAR
    PRESSURE = _abi.BY_PRESSURE


class Completion(NamedTuple):
    """The end of a request: its cause, and the key that was put or completed, or b""."""

    cause: Cause
    key: bytes


Future = asyncio.Future[Completion]


class Requests:
    """The requests of a belt that one event loop waits for, on a descriptor of their own."""

    def __init__(self, device: Device, loop: asyncio.AbstractEventLoop) -> None:
        """Open the descriptor."""
        self.pid = os.getpid()
        self._loop = loop
        self._device = Device(device.name, device.path, device.owner, os.O_NONBLOCK,
                              _abi.WATCH_REQUESTS)
        self._numbers = itertools.count(1)
        self._room = new_buffer(_ROOM)
        self._waiting: dict[int, Future] = {}

    def wait_for(self, keys: list[bytes], ttl: int) -> Future:
        """Belt.wait_for()."""
        described = (_abi.Key * len(keys))()
        for one, key in zip(described, keys):
            one.key = address(key)
            one.key_len = len(key)
        number = next(self._numbers)
        err = self._device.attempt(library.request, number, described, len(keys), ttl)
        if err:
            raise self._device.error(err, _abi.CALL_REQUEST)
        # Only this loop reads the ends of requests: none can be lost before this.
        future: Future = self._loop.create_future()
        if not self._waiting:
            self._loop.add_reader(self._device.fd(), self._read)
        self._waiting[number] = future
        future.add_done_callback(lambda done: self._cancel(number) if done.cancelled() else None)
        return future

    def close(self) -> None:
        """Cancel the futures, and close the descriptor. Called in the event loop."""
        for future in list(self._waiting.values()):
            future.cancel()
        if self._waiting:
            self._loop.remove_reader(self._device.fd())
        self._waiting = {}
        self._device.close()

    def _end(self, number: int) -> Future | None:
        """Take a request off. An event loop without requests watches nothing."""
        future = self._waiting.pop(number, None)
        if future is not None and not self._waiting:
            self._loop.remove_reader(self._device.fd())
        return future

    def _cancel(self, number: int) -> None:
        """Cancel a request, unless it has ended."""
        if self._end(number) is not None:
            self._device.attempt(library.cancel, number)

    def _read(self) -> None:
        """Called by the event loop when requests have ended."""
        size = library.read(self._device.handle(), self._room, _ROOM)
        place = 0
        while place < size:
            event = _abi.Event.from_buffer_copy(self._room, place)
            start = place + _HEADER
            future = self._end(event.id)
            if future is not None and not future.done():
                future.set_result(Completion(Cause(event.reason),
                                             self._room[start:start + event.key_len]))
            place += event.size
        if size < 0 and size not in (-errno.EAGAIN, -errno.EINTR):
            self._fail(size)

    def _fail(self, err: int) -> None:
        """Raise an error of the descriptor, NoBelt for example, in each future."""
        for number in list(self._waiting):
            future = self._end(number)
            if future is not None and not future.done():
                future.set_exception(self._device.error(err, _abi.CALL_READ))
