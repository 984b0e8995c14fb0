# SPDX-License-Identifier: LGPL-2.1-or-later
"""Serializers: how values become the bytes that a belt stores."""

import json
import pickle
from typing import Any, Final, Protocol, TypeVar

V = TypeVar("V")

# A serializer of this package may return this for bytes that are no value, such as the pickle of a
# class that was renamed. get_or_set() takes it, and an exception, as a miss.
UNREADABLE: Final[Any] = object()

# Those of json.dumps() and json.loads() are made, or looked for, with each call.
_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_decoder: Final[Any] = json.JSONDecoder()
_scan: Final = _decoder.scan_once


class Serializer(Protocol[V]):
    """A serializer has two methods."""

    def dumps(self, value: V) -> bytes:
        """Return the bytes of a value. Raises TypeError or ValueError if it has none."""

    def loads(self, data: bytes) -> V:
        """Return the value of bytes that dumps() has returned."""


def loads_of(serializer: Any) -> Any:
    """The method loads of a serializer, or None where values are bytes, which need no call."""
    return None if type(serializer) is Bytes else serializer.loads


class Bytes:
    """Values are bytes. The default."""

    def dumps(self, value: bytes) -> bytes:
        """Return the value. Raises TypeError if it is not bytes, bytearray or memoryview."""
        if isinstance(value, bytes):
            return value
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        raise TypeError(f"the belt stores bytes, not {type(value).__name__}: encode the value, or "
                        "open the belt with serializer=hashbelt.JSON()")

    def loads(self, data: bytes) -> bytes:
        """Return the bytes."""
        return data


class JSON:
    """Values are what the module json can write. Any program may read them."""

    def dumps(self, value: Any) -> bytes:
        """Return JSON in UTF-8. Raises TypeError or ValueError as json.dumps() does."""
        return _encode(value).encode()

    def loads(self, data: bytes) -> Any:
        """Return the value. Raises ValueError if the bytes are not JSON in UTF-8."""
        text = str(data, "utf-8")
        try:
            value, end = _scan(text, 0)
        except StopIteration:
            end = -1
        # Where white space stands around the value, or it is none, the module takes care of it.
        return value if end == len(text) else json.loads(text)


class Pickle:
    """Values are any that the module pickle can write.

    Warning: loading a pickle runs any code that its writer has put into it. Use it only on a belt
    that no less trusted user may write to: hashbelt.open(..., owner=os.getuid()) demands the owner,
    and the belt's mode says which users may write.
    """

    def dumps(self, value: Any) -> bytes:
        """Return the pickle. Raises pickle.PicklingError or TypeError if there is none."""
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)

    def loads(self, data: bytes) -> Any:
        """Return the value. Raises what pickle.loads() raises."""
        return pickle.loads(data)
