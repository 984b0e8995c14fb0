# SPDX-License-Identifier: LGPL-2.1-or-later
"""Used by the modules for frameworks: keys of any length, numbers, and bytes that are no value."""

import hashlib
import re
from typing import Any, Final

from . import _abi
from ._time import KEEP, Seconds
from .belt import Belt
from .errors import Changed, Missing
from .serializer import UNREADABLE, Serializer

# The bytes of a long key that stand before its hash.
_BEGINNING: Final = _abi.KEY_MAX - 65
_NUMBER_MAX: Final = 2 ** 63 - 1
_TTL_MAX: Final = _abi.TTL_MAX_MS / 1000
_is_number: Final = re.compile(rb"-?[0-9]{1,19}").fullmatch


def fit_key(key: str) -> bytes:
    """The bytes of a key. Of one that is too long for a belt, the beginning and the hash."""
    data = key.encode()
    if len(data) <= _abi.KEY_MAX:
        return data
    return data[:_BEGINNING] + b"#" + hashlib.sha256(data).hexdigest().encode()


def fit_ttl(ttl: Seconds) -> Seconds:
    """A time-to-live in seconds that a belt takes: more than 139 years are for ever."""
    return None if isinstance(ttl, (int, float)) and ttl > _TTL_MAX else ttl


class Numbers:
    """Writes an int of 64 bits in decimal, as Belt.incr() does; else uses another serializer.

    The other one must not write text that is a number in decimal for anything but that number.
    Bytes that it cannot load are UNREADABLE: to a framework that is a miss.
    """

    def __init__(self, other: Serializer[Any]) -> None:
        """Use the other serializer for what is not an int."""
        self._other = other

    def dumps(self, value: Any) -> bytes:
        """Return the bytes of a value. Raises what the other serializer raises."""
        if type(value) is int and -_NUMBER_MAX <= value <= _NUMBER_MAX:
            return b"%d" % value
        return self._other.dumps(value)

    def loads(self, data: bytes) -> Any:
        """Return the value, or UNREADABLE."""
        if _is_number(data):
            return int(data)
        try:
            return self._other.loads(data)
        except Exception:  # pylint: disable=broad-except
            return UNREADABLE


def add_to(belt: Belt[Any], key: bytes, delta: Any, initial: Any = UNREADABLE) -> Any:
    """Add to the value of an entry, which keeps its deadline, and return the sum.

    Returns None if there is no entry. An unreadable value counts as initial, and without it as no
    entry. No concurrent change is lost. Raises what the addition of the two values raises, and
    Full.
    """
    while True:
        entry = belt.entry(key)
        if entry is None:
            return None
        value = initial if entry.value is UNREADABLE else entry.value
        if value is UNREADABLE:
            return None
        try:
            belt.set(key, value + delta, KEEP, version=entry.version)
        except (Changed, Missing):
            continue
        return value + delta
