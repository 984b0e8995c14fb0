# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many keys in one call.

The items of a batch lie in memory that is made once. A batch writes and reads one member of all
items at a time, by a slice of a memoryview, and packs all keys by one call: what is done for each
key is most of the cost.
"""

import ctypes
import errno
import functools
import struct
import sys
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
# Bytes from one key to the next, as long as none was longer.
_SHORT: Final = 32

_batch: Final = untyped("batch")


def encode_key(key: Key) -> bytes:
    """The bytes of a key: those of a str in UTF-8. Raises TypeError."""
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, bytes):
        return bytes(key)
    raise TypeError(f"a key is str or bytes, not {type(key).__name__}")


def encode_keys(keys: list[Any]) -> list[bytes]:
    """The bytes of keys. Raises TypeError."""
    try:
        return list(map(str.encode, keys))
    except TypeError:
        return [encode_key(key) for key in keys]


@functools.cache
def _packer(stride: int, count: int) -> Callable[..., None]:
    """A function that packs so many keys."""
    return struct.Struct(f"{stride}s" * count).pack_into


@functools.lru_cache(SIZE)
def _unpacker(size: int, count: int) -> Callable[..., tuple[bytes, ...]]:
    """A function that takes so many values of one size in bytes."""
    return struct.Struct(f"{size}s{ROOM - size}x" * count).unpack_from


def pieces(keys: list[T]) -> Iterator[list[T]]:
    """Divide keys among calls."""
    for first in range(0, len(keys), SIZE):
        yield keys[first:first + SIZE]


def _places(member: str, size: int, more: int = 0) -> slice:
    """The places of a member of each item, in an array of integers of that size in bytes.

    more is added to its offset, bytes.
    """
    return slice((getattr(_abi.Item, member).offset + more) // size, None,
                 ctypes.sizeof(_abi.Item) // size)


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
        self._zeros = memoryview(array("I", [0]) * SIZE)
        # The lowest byte of each length, for keys of which none has more than 255 bytes.
        self._short_len = raw[_places("key_len", 1, 0 if sys.byteorder == "little" else 3)]
        self._has_long = False
        self._set_stride(_SHORT)
        if operation == _abi.OP_GET:
            self.value = new_buffer(SIZE * ROOM)
            self._starts = range(0, SIZE * ROOM, ROOM)
            self._rooms = array("I", [ROOM]) * SIZE
            first = ctypes.addressof(self.value)
            self._place[:] = array("Q", range(first, first + SIZE * ROOM, ROOM))

    def _set_stride(self, stride: int) -> None:
        """Make room for keys, at so many bytes from each other."""
        self._stride = stride
        self._fitting = bytes(range(1, min(stride, 255) + 1))
        self._keys = new_buffer(SIZE * stride)
        first = ctypes.addressof(self._keys)
        self._key[:] = array("Q", range(first, first + SIZE * stride, stride))

    def set_keys(self, keys: list[bytes]) -> None:
        """Say which keys the batch is about, 1 to SIZE. Raises TooLarge."""
        lengths = list(map(len, keys))
        count = len(lengths)
        try:
            short = bytes(lengths)
        except ValueError:
            self._fit(lengths)
            self._key_len[:count] = array("I", lengths)
            self._has_long = True
        else:
            # Without those that fit, none is left.
            if short.translate(None, self._fitting):
                self._fit(lengths)
            if self._has_long:
                self._key_len[:] = self._zeros
                self._has_long = False
            self._short_len[:count] = short
        _packer(self._stride, count)(self._keys, 0, *keys)

    def _fit(self, lengths: list[int]) -> None:
        """Make room for longer keys. Raises TooLarge."""
        longest = max(lengths)
        if longest > _abi.KEY_MAX or 0 in lengths:
            raise make_error(-errno.E2BIG, _abi.CALL_GET)
        if longest > self._stride:
            self._set_stride(1 << (longest - 1).bit_length())

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

    def run(self, device: Device, count: int) -> bool:
        """Carry out the first items. Returns whether each has succeeded. Raises Error."""
        err = _batch(device.handle(), self._pointer, count, self._done_pointer)
        done = self._done.value
        while err == -errno.EINTR:
            # The handler of the signal has returned.
            rest = ctypes.byref(self._items, done * ctypes.sizeof(_abi.Item))
            err = _batch(device.handle(), rest, count - done, self._done_pointer)
            done += self._done.value
        if err:
            raise device.error(err, _abi.CALL_BATCH)
        return self._result[:count] == self._zeros[:count]

    def results(self, count: int) -> list[int]:
        """The result of each item: 0 or a negative error number."""
        return array("i", self._result[:count].tobytes()).tolist()

    def values(self, count: int) -> Iterable[bytes]:
        """The values of gets of which none has failed."""
        sizes = self._value_len[:count].tolist()
        size = sizes[0]
        if sizes.count(size) == count:
            return _unpacker(size, count)(self.value)
        value = self.value
        return [value[start:start + size] for start, size in zip(self._starts, sizes)]

    def value_of(self, index: int) -> bytes:
        """The value of a get that has not failed."""
        start = self._starts[index]
        return bytes(self.value[start:start + self._value_len[index]])
