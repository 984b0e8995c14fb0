# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls on one key, by ctypes."""

import ctypes
import errno
from collections.abc import Callable
from typing import Any

from . import _abi
from ._batch import Key, encode_key
from ._device import ROOM, Device, new_buffer
from ._library import library
from .errors import Error


def key_error(device: Device, err: int, call: int, key: bytes) -> Error:
    """The exception of a call with a key. An empty one gets the sentence of a long one."""
    return device.error(err if key else -errno.E2BIG, call)


def call_key(device: Device, function: Callable[..., int], call: int, key: Key,
             *arguments: Any) -> int:
    """Call a function with a key. Returns 0, or the error of a key; raises other errors."""
    data = encode_key(key)
    err = device.attempt(function, data, len(data), *arguments)
    if err in (0, -errno.ENOENT, -errno.EEXIST, -errno.ESTALE, -errno.EALREADY, -errno.ERANGE):
        return err
    raise key_error(device, err, call, data)


def read_entry(device: Device, key: Key) -> tuple[bytes, int, int] | None:
    """The bytes, version and time left in milliseconds of an entry; None if there is none."""
    item = _abi.Item()
    size = ROOM
    while True:
        buffer = new_buffer(size)
        err = call_key(device, library.get, _abi.CALL_GET, key, buffer, size, ctypes.byref(item))
        if err != -errno.ERANGE:
            break
        size = item.value_len
    return None if err else (buffer[:item.value_len], item.version, item.ttl_ms)


def put_bytes(device: Device, key: Key, data: bytes, ttl: int, how: int, version: int = 0,
              ) -> tuple[int, int]:
    """Put bytes on a condition. Returns 0 or the error of a key, and the version then."""
    item = _abi.Item(how=how, ttl_ms=ttl, version=version)
    err = call_key(device, library.put, _abi.CALL_PUT, key, data, len(data), ctypes.byref(item))
    return err, item.version
