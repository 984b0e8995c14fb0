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
from array import array
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final, TypeVar

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
# Bytes from one key to the next, if none is longer.
_SHORT: Final = 128

_batch: Final = untyped("batch")


def encode_key(key: Key) -> bytes:
    """The bytes of a key: those of a str in UTF-8. Raises TypeError."""
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, bytes):
        return bytes(key)
    raise TypeError(f"a key is str or bytes, not {type(key).__name__}")


@functools.cache
def _packer(stride: int, count: int) -> Callable[..., None]:
    """Packs so many keys."""
    return struct.Struct(f"{stride}s" * count).pack_into


def pieces(keys: list[T]) -> Iterator[list[T]]:
    """Divide keys among calls."""
    for first in range(0, len(keys), SIZE):
        yield keys[first:first + SIZE]


def _place(member: str, size: int) -> slice:
    """The places of a member of each item, in an array of integers of that size in bytes."""
    return slice(getattr(_abi.Item, member).offset // size, None,
                 ctypes.sizeof(_abi.Item) // size)


class Batch:
    """The memory of batches of one operation, OP_GET for example.

    value is room for the values of gets, and starts has the place of each.
    """

    def __init__(self, operation: int) -> None:
        """Make memory for SIZE items."""
        self._items = (_abi.Item * SIZE)()
        raw = memoryview(self._items).cast("B")
        words, halves = raw.cast("Q"), raw.cast("I")
        # The members of all items.
        self._key = words[_place("key", 8)]
        self._place = words[_place("value", 8)]
        self._ttl = words[_place("ttl_ms", 8)]
        self._key_len = halves[_place("key_len", 4)]
        self._value_len = halves[_place("value_len", 4)]
        self._result = halves[_place("result", 4)]
        halves[_place("op", 4)] = array("I", [operation]) * SIZE
        self._address = ctypes.addressof(self._items)
        self._pointer = ctypes.c_void_p(self._address)
        self._done = ctypes.c_uint()
        self._done_pointer = ctypes.c_void_p(ctypes.addressof(self._done))
        self._keys = new_buffer(SIZE * _SHORT)
        self._set_stride(_SHORT)
        self.value = new_buffer(SIZE * ROOM if operation == _abi.OP_GET else 0)
        self.starts = range(0, SIZE * ROOM, ROOM)
        self._rooms = array("I", [ROOM]) * SIZE
        self._zeros = memoryview(array("I", [0]) * SIZE)
        if operation == _abi.OP_GET:
            first = ctypes.addressof(self.value)
            self._place[:] = array("Q", range(first, first + SIZE * ROOM, ROOM))

    def _set_stride(self, stride: int) -> None:
        """Place keys at so many bytes from each other."""
        if len(self._keys) < SIZE * stride:
            self._keys = new_buffer(SIZE * stride)
        self._stride = stride
        first = ctypes.addressof(self._keys)
        self._key[:] = array("Q", range(first, first + SIZE * stride, stride))

    def set_keys(self, keys: list[bytes]) -> None:
        """Say which keys the batch is about, 1 to SIZE. Raises TooLarge."""
        sizes = array("I", map(len, keys))
        longest = max(sizes)
        if longest > _abi.KEY_MAX or not min(sizes):
            raise make_error(-errno.E2BIG, _abi.CALL_GET)
        stride = _SHORT if longest <= _SHORT else _abi.KEY_MAX
        if stride != self._stride:
            self._set_stride(stride)
        count = len(keys)
        _packer(stride, count)(self._keys, 0, *keys)
        self._key_len[:count] = sizes

    def set_room(self) -> None:
        """Give each get its room again: a call replaces that by the size of the value."""
        self._value_len[:] = self._rooms

    def set_values(self, values: list[bytes], joined: bytes, ttl: int) -> None:
        """Say which values are put. joined are all of them; it has to stay until run()."""
        count = len(values)
        sizes = array("I", map(len, values))
        first = address(joined)
        self._place[:count] = array("Q", accumulate(sizes[:-1], initial=first))
        self._value_len[:count] = sizes
        self._ttl[:count] = array("Q", [ttl]) * count

    def run(self, device: Device, count: int) -> bool:
        """Carry out the first items. Returns whether each has succeeded. Raises Error."""
        err = _batch(device.handle(), self._pointer, count, self._done_pointer)
        done = self._done.value
        while err == -errno.EINTR:
            # The handler of the signal has returned.
            rest = ctypes.c_void_p(self._address + done * ctypes.sizeof(_abi.Item))
            err = _batch(device.handle(), rest, count - done, self._done_pointer)
            done += self._done.value
        if err:
            raise device.error(err, _abi.CALL_BATCH)
        return self._result[:count] == self._zeros[:count]

    def results(self, count: int) -> list[int]:
        """The result of each item: 0 or a negative error number."""
        return array("i", self._result[:count].tobytes()).tolist()

    def sizes(self, count: int) -> list[int]:
        """The size of each value, bytes."""
        return self._value_len[:count].tolist()
