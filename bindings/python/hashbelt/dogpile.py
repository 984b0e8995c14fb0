# SPDX-License-Identifier: LGPL-2.1-or-later
"""A backend for dogpile.cache.

    import hashbelt.dogpile

    region = make_region().configure("hashbelt", expiration_time=60, arguments={"belt": "pages"})
"""

import pickle
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dogpile.cache import api, register_backend
from dogpile.cache.api import NO_VALUE, BytesBackend

from . import _abi
from ._frameworks import fit_key
from ._time import BELT
from .belt import Key, open_belt
from .fill import Filler

# A region takes this error as a miss. dogpile.cache 1.1 has none.
_Unreadable: Final[Any] = getattr(api, "CantDeserializeException", None)
# The key of the fill lease of a key: an entry that is due for dogpile is still there.
_MUTEX: Final = "/mutex"


def _loads(data: bytes) -> Any:
    """The value of a pickle. One that cannot be loaded, for its class was renamed, is a miss."""
    try:
        return pickle.loads(data)
    except Exception as error:
        if _Unreadable is None:
            raise
        raise _Unreadable() from error


class BeltMutex:
    """A mutex of a key: a fill lease, which one caller of the machine has, in FIFO order.

    It ends when its process ends, also by SIGKILL, or after its duration.
    """

    def __init__(self, filler: Filler[bytes], key: bytes, lease: float) -> None:
        """A mutex that is not held. lease is its duration in seconds."""
        self._filler = filler
        self._key = key
        self._lease = lease
        self._token = 0
        # How many callers go on without it, beside the one that has it.
        self._passes = 0

    def acquire(self, wait: bool = True) -> bool:
        """Take the mutex, or with wait=False try to. Returns whether the caller has it.

        A greenlet or a task that would wait for another one of its thread goes on without it, as
        dogpile does not look at the result of a wait, and releases it as if it had it.
        """
        token = self._filler.lease(self._key, self._lease, None if wait else 0)
        if token:
            self._token = token
        elif wait:
            self._passes += 1
        return token != 0

    def release(self) -> None:
        """Give the mutex to the next waiter. A mutex whose duration has ended is ignored."""
        if self._passes:
            self._passes -= 1
            return
        token, self._token = self._token, 0
        self._filler.give_up(self._key, token)

    def locked(self) -> bool:
        """Whether some caller has the mutex. It is taken for a moment if none has."""
        token = self._filler.lease(self._key, self._lease, 0)
        if token:
            self._filler.give_up(self._key, token)
        return token == 0


class BeltBackend(BytesBackend):
    """A backend of dogpile.cache whose values are in a belt.

    arguments may have "belt", the name of the belt; "owner" and "path" as hashbelt.open() takes
    them; "expiration_time", the time-to-live of entries in seconds, which should be longer than
    that of the region, None for never (without it the belt's own holds); "distributed_lock", False
    for a mutex of threads alone; and "lock_timeout", the duration of a mutex in seconds (30).
    A pickle that cannot be loaded is a miss, unless the region has a deserializer of its own.
    Methods raise what the belt raises: Full, TooLarge, NoBelt, NotAllowed.
    """

    deserializer = staticmethod(_loads)

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        """Open the belt. Raises NoDevice, NoBelt, NotAllowed."""
        self._belt = open_belt(arguments.get("belt", _abi.DEFAULT_BELT),
                               owner=arguments.get("owner"),
                               path=arguments.get("path", _abi.DEVICE), keep_bound=True)
        self._ttl = arguments.get("expiration_time", BELT)
        self._is_distributed = arguments.get("distributed_lock", True)
        self._lease = arguments.get("lock_timeout", 30)

    def has_lock_timeout(self) -> bool:
        """Whether a mutex ends by itself."""
        return bool(self._is_distributed)

    def get_mutex(self, key: str) -> BeltMutex | None:
        """The mutex of a key."""
        if not self._is_distributed:
            return None
        return BeltMutex(self._belt._filler, fit_key(key + _MUTEX), self._lease)

    def get_serialized(self, key: str) -> Any:
        """The bytes of a key, or NO_VALUE."""
        return self._belt.get(fit_key(key), NO_VALUE)

    def get_serialized_multi(self, keys: Sequence[str]) -> list[Any]:
        """The bytes of each key, or NO_VALUE: one call for 64 keys."""
        made = [fit_key(key) for key in keys]
        found = self._belt.get_many(made)
        return [found.get(key, NO_VALUE) for key in made]

    def set_serialized(self, key: str, value: bytes) -> None:
        """Store bytes."""
        self._belt.set(fit_key(key), value, self._ttl)

    def set_serialized_multi(self, mapping: Mapping[str, bytes]) -> None:
        """Store bytes: one call for 64 keys."""
        made: dict[Key, bytes] = {fit_key(key): value for key, value in mapping.items()}
        self._belt.set_many(made, self._ttl)

    def delete(self, key: str) -> None:
        """Remove a key."""
        self._belt.delete(fit_key(key))

    def delete_multi(self, keys: Sequence[str]) -> None:
        """Remove keys: one call for 64 keys."""
        self._belt.delete_many([fit_key(key) for key in keys])


register_backend("hashbelt", "hashbelt.dogpile", "BeltBackend")

__all__ = ["BeltBackend", "BeltMutex"]
