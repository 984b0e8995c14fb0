# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cache for cachelib, and so for Flask-Caching and Flask-Session.

    CACHE_TYPE = "hashbelt.cachelib.flask_caching"
    CACHE_ARGS = ["pages"]

    SESSION_TYPE = "cachelib"
    SESSION_CACHELIB = hashbelt.cachelib.BeltCache("sessions")
"""

from collections.abc import Iterator
from typing import Any

from cachelib.base import BaseCache

from . import _abi
from ._frameworks import Numbers, add_to, fit_key, fit_ttl
from ._time import Seconds
from .belt import open_belt
from .errors import Full, NotNumber, SumTooLarge
from .serializer import UNREADABLE, Pickle, Serializer


class BeltCache(BaseCache):
    """A cache in a belt.

    A timeout is in seconds. None is the default one, 0 and -1 are never, and other negative ones
    are of an entry that is gone at once. Integers are stored in decimal, and all other values by
    the serializer; one that cannot be loaded, for its class was renamed, is a miss. A method that
    stores returns False, None or fewer keys if the belt is full.
    All methods raise what the belt raises otherwise: NoBelt, NotAllowed, TooLarge.
    """

    def __init__(self, belt: str = _abi.DEFAULT_BELT, default_timeout: int = 300,
                 key_prefix: str = "", *, serializer: Serializer[Any] | None = None,
                 owner: int | None = None, path: str = _abi.DEVICE,
                 ignore_delete_many_errors: bool = True) -> None:
        """Open a belt by its name.

        key_prefix begins all keys, and clear() removes only these. serializer, owner and path are
        those of hashbelt.open(); without a serializer values are pickles. As each deletion of a
        belt succeeds or raises an exception, ignore_delete_many_errors makes no difference. Raises
        NoDevice, NoBelt, NotAllowed.
        """
        super().__init__(default_timeout)
        self.ignore_delete_many_errors = ignore_delete_many_errors
        self.key_prefix = key_prefix
        self._belt = open_belt(belt, Numbers(serializer or Pickle()), owner=owner, path=path,
                               keep_bound=True)

    def _key(self, key: str) -> bytes:
        return fit_key(self.key_prefix + key)

    def _ttl(self, timeout: int | None) -> Seconds:
        """The time-to-live in seconds, None for never, or -1 for an entry that is gone at once."""
        seconds: float = self._normalize_timeout(timeout)
        return None if seconds in (0, -1) else fit_ttl(max(seconds, -1))

    def get(self, key: str) -> Any:
        """The value of a key, or None."""
        found = self._belt.get(self._key(key))
        return None if found is UNREADABLE else found

    def get_many(self, *keys: str) -> list[Any]:
        """The values of keys, or None for those without: one call for 64 keys."""
        found = self._belt.get_many([self._key(key) for key in keys])
        values = [found.get(self._key(key)) for key in keys]
        return [None if value is UNREADABLE else value for value in values]

    def has(self, key: str) -> bool:
        """Whether a key has a value."""
        return self._key(key) in self._belt

    def set(self, key: str, value: Any, timeout: int | None = None) -> bool:
        """Store a value. Returns whether the belt had room."""
        ttl = self._ttl(timeout)
        if ttl == -1:
            self._belt.delete(self._key(key))
            return True
        try:
            self._belt.set(self._key(key), value, ttl)
        except Full:
            return False
        return True

    def add(self, key: str, value: Any, timeout: int | None = None) -> bool:
        """Store a value if the key has none. Returns whether it was stored."""
        ttl = self._ttl(timeout)
        if ttl == -1:
            return not self.has(key)
        try:
            return self._belt.add(self._key(key), value, ttl)
        except Full:
            return False

    def set_many(self, mapping: dict[str, Any], timeout: int | None = None) -> list[str]:
        """Store values. Returns the keys of those for which the belt had room."""
        ttl = self._ttl(timeout)
        if ttl != -1:
            try:
                self._belt.set_many({self._key(key): value for key, value in mapping.items()}, ttl)
                return list(mapping)
            except Full:
                pass
        return [key for key, value in mapping.items() if self.set(key, value, timeout)]

    def delete(self, key: str) -> bool:
        """Remove a key. Returns whether it had a value."""
        return self._belt.delete(self._key(key))

    def clear(self) -> bool:
        """Remove all keys of this prefix. Returns True."""
        if self.key_prefix:
            self._belt.delete_many(list(self._own_keys()))
        else:
            self._belt.clear()
        return True

    def _own_keys(self) -> Iterator[bytes]:
        beginning = self.key_prefix.encode()
        return (key for key in self._belt if key.startswith(beginning))

    def inc(self, key: str, delta: int = 1) -> Any:
        """Add to the value of a key, and return the sum, or None if the belt is full.

        A key without a value gets delta and the default timeout; others keep their time-to-live.
        No concurrent addition is lost.
        """
        made, ttl = self._key(key), self._ttl(None)
        try:
            return self._belt.incr(made, delta, ttl=None if ttl == -1 else ttl)
        except Full:
            return None
        except (NotNumber, SumTooLarge):
            total = add_to(self._belt, made, delta, 0)
            # The entry may have gone meanwhile.
            return delta if total is None and self.add(key, delta) else total

    def dec(self, key: str, delta: int = 1) -> Any:
        """Subtract from the value of a key, as inc() adds."""
        return self.inc(key, -delta)


def flask_caching(*args: Any, **kwargs: Any) -> BeltCache:
    """Make the cache of Flask-Caching: CACHE_ARGS and CACHE_OPTIONS are arguments of BeltCache.

    Before 2.4, Flask-Caching passes its application, the configuration, and both; later versions
    take this for a class of cachelib, and pass the arguments alone.
    """
    if len(args) == 4 and isinstance(args[2], list) and not kwargs:
        _, _, args, kwargs = args
    return BeltCache(*args, **kwargs)


__all__ = ["BeltCache", "flask_caching"]
