# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many keys in one call.

The items of a batch lie in memory that is made once. A batch writes and reads one member of all
items at a time, by a slice of a memoryview: what is done for each key is most of the cost.
"""

import ctypes
import errno
import functools
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Any, Final, TypeVar

from . import _abi
from ._device import Device, address, new_buffer
from ._library import untyped
from .errors import make_error

T = TypeVar("T")
Key = str | bytes

# Keys of one call: more would not cost less.
SIZE: Final = 64
# Room for each value of a get, bytes. A larger value costs a call of its own.
ROOM: Final = 1024

_batch: Final = untyped("batch")


def encode_key(key: Key) -> bytes:
    """The bytes of a key: those of a str in UTF-8. Raises TypeError."""
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, bytes):
        return bytes(key)
    raise TypeError(f"a key is str or bytes, not {type(key).__name__}")


def _join_equal(keys: list[Any]) -> bytes | None:
    """The bytes of keys with a NUL between them, if they have one length, else None.

    No key has a NUL then. This is cheap, for no key is looked at by itself.
    """
    is_text = isinstance(keys[0], str)
    nul: Any = "\0" if is_text else b"\0"
    try:
        joined = nul.join(keys)
    except TypeError:
        return None
    length, more = len(keys[0]), len(keys) - 1
    if (not 0 < length <= _abi.KEY_MAX or len(joined) != length + more * (length + 1) or
            joined.count(nul) != more or joined[length::length + 1] != nul * more):
        return None
    if is_text:
        return joined.encode() if joined.isascii() else None
    return bytes(joined)


@functools.lru_cache(SIZE)
def _unpacker(size: int, count: int) -> Callable[..., tuple[bytes, ...]]:
    """A function that takes so many values of one size in bytes."""
    return struct.Struct(f"{size}s{ROOM - size}x" * count).unpack_from


@functools.lru_cache(SIZE)
def _constant(size: int, count: int) -> memoryview:
    """So many sizes that are equal."""
    return memoryview(array("I", [size]) * count)


def pieces(keys: list[T]) -> Iterator[list[T]]:
    """Divide keys among calls."""
    if 0 < len(keys) <= SIZE:
        yield keys
        return
    for first in range(0, len(keys), SIZE):
        yield keys[first:first + SIZE]


def _places(member: str, size: int) -> slice:
    """The places of a member of each item, in an array of integers of that size in bytes."""
    return slice(getattr(_abi.Item, member).offset // size, None, ctypes.sizeof(_abi.Item) // size)


class Batch:
    """The memory of batches of one operation, OP_GET for example."""

    def __init__(self, operation: int) -> None:
        """Make memory for SIZE items."""
        self._items = (_abi.Item * SIZE)()
        self._pointer = ctypes.byref(self._items)
        self._done = ctypes.c_uint()
        self._done_pointer = ctypes.byref(self._done)
        raw = memoryview(self._items).cast("B")
        words, halves = raw.cast("Q"), raw.cast("I")
        # The members of all items.
        self._key = words[_places("key", 8)]
        self._place = words[_places("value", 8)]
        self._ttl = words[_places("ttl_ms", 8)]
        self._key_len = halves[_places("key_len", 4)]
        self._value_len = halves[_places("value_len", 4)]
        self._result = halves[_places("result", 4)]
        halves[_places("op", 4)] = array("I", [operation]) * SIZE
        memory = new_buffer(SIZE * (_abi.KEY_MAX + 1))
        self._keys = memoryview(memory).cast("B")
        self._first = ctypes.addressof(memory)
        # The length of all keys, 0 if they differ.
        self._length = 0
        if operation == _abi.OP_GET:
            self.value = new_buffer(SIZE * ROOM)
            self._starts = range(0, SIZE * ROOM, ROOM)
            self._rooms = array("I", [ROOM]) * SIZE
            first = ctypes.addressof(self.value)
            self._place[:] = array("Q", range(first, first + SIZE * ROOM, ROOM))

    def set_keys(self, keys: list[Key]) -> None:
        """Say which keys the batch is about, 1 to SIZE. Raises TypeError, TooLarge."""
        joined = _join_equal(keys)
        if joined is None:
            self._set_unequal([encode_key(key) for key in keys])
            return
        length = (len(joined) + 1) // len(keys) - 1
        if length != self._length:
            self._key[:] = array("Q", [self._first + (length + 1) * i for i in range(SIZE)])
            self._key_len[:] = array("I", [length]) * SIZE
            self._length = length
        self._keys[:len(joined)] = joined

    def _set_unequal(self, keys: list[bytes]) -> None:
        """Say which keys of any lengths the batch is about. Raises TooLarge."""
        lengths = list(map(len, keys))
        count = len(lengths)
        if max(lengths) > _abi.KEY_MAX or 0 in lengths:
            raise make_error(-errno.E2BIG, _abi.CALL_GET)
        joined = b"".join(keys)
        self._keys[:len(joined)] = joined
        self._key[:count] = array("Q", list(accumulate(lengths[:-1], initial=self._first)))
        self._key_len[:count] = array("I", lengths)
        self._length = 0

    def set_room(self) -> None:
        """Give each get its room again: a call replaces that by the size of the value."""
        self._value_len[:] = self._rooms

    def set_values(self, values: list[bytes], joined: bytes, ttl: int) -> None:
        """Say which values are put. joined are all of them; it has to stay until run()."""
        sizes = list(map(len, values))
        count = len(sizes)
        first = address(joined)
        self._place[:count] = array("Q", list(accumulate(sizes[:-1], initial=first)))
        self._value_len[:count] = array("I", sizes)
        self._ttl[:count] = array("Q", [ttl]) * count

    def run(self, device: Device, count: int) -> None:
        """Carry out the first items. Raises Error."""
        err = _batch(device.handle(), self._pointer, count, self._done_pointer)
        done = self._done.value
        while err == -errno.EINTR:
            # The handler of the signal has returned.
            rest = ctypes.byref(self._items, done * ctypes.sizeof(_abi.Item))
            err = _batch(device.handle(), rest, count - done, self._done_pointer)
            done += self._done.value
        if err:
            raise device.error(err, _abi.CALL_BATCH)

    def results(self, count: int) -> list[int]:
        """The result of each item: 0 or a negative error number."""
        return array("i", self._result[:count].tobytes()).tolist()

    def values(self, count: int) -> Iterable[bytes] | None:
        """The values of gets, or None if one has failed."""
        sizes = self._value_len[:count]
        size = sizes[0]
        # A get that fails leaves ROOM there, or more: a smaller size says that it has not failed.
        if size < ROOM and sizes == _constant(size, count):
            return _unpacker(size, count)(self.value)
        if any(self.results(count)):
            return None
        value = self.value
        return [value[start:start + size] for start, size in zip(self._starts, sizes.tolist())]

    def value_of(self, index: int) -> bytes:
        """The value of a get that has not failed."""
        start = self._starts[index]
        return bytes(self.value[start:start + self._value_len[index]])


class Batches:
    """Memory that no batch uses now: a signal's handler, and another thread, get their own."""

    def __init__(self) -> None:
        """Begin with none."""
        self._free: dict[int, list[Batch]] = {}

    def take(self, operation: int) -> Batch:
        """The memory for a batch of one operation."""
        try:
            return self._free[operation].pop()
        except (KeyError, IndexError):
            return Batch(operation)

    def give(self, operation: int, batch: Batch) -> None:
        """Give memory back."""
        self._free.setdefault(operation, []).append(batch)
