# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cache backend for Django 3.2 and later.

    CACHES = {"default": {"BACKEND": "hashbelt.django.BeltCache", "LOCATION": "pages"}}
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.utils.module_loading import import_string

from . import _abi
from ._frameworks import Numbers, add_to, fit_key, fit_ttl
from ._time import Seconds
from .belt import Belt, Key, open_belt
from .errors import Missing, NotNumber, SumTooLarge
from .serializer import UNREADABLE, Pickle

# Django makes a BeltCache for each thread, and so for each request of its own server. They share
# the belts of the process.
_belts: Final[dict[tuple[Any, ...], Belt[Any]]] = {}
# Options of Django's own backends: the belt's limits hold in their place.
_IGNORED: Final = ("MAX_ENTRIES", "CULL_FREQUENCY")


def _shared_belt(name: str, *, owner: int | None = None, path: str = _abi.DEVICE,
                 serializer: Any = Pickle) -> Belt[Any]:
    """The belt of this process by that name. Two threads may open it at once: one is kept."""
    place = name, owner, path, serializer
    belt = _belts.get(place)
    if belt is None:
        kind = import_string(serializer) if isinstance(serializer, str) else serializer
        values = Numbers(kind() if isinstance(kind, type) else kind)
        belt = _belts.setdefault(place, open_belt(name, values, owner=owner, path=path,
                                                  keep_bound=True))
    return belt


class BeltCache(BaseCache):
    """A cache in the belt that LOCATION names.

    OPTIONS may have "owner", the uid that the belt must have; "serializer", a class or an object
    as hashbelt.open() takes it, or the name of one (hashbelt.Pickle); and "path", that of the
    device. MAX_ENTRIES and CULL_FREQUENCY are ignored: the belt has limits of its own. Integers
    are stored in decimal, and all other values by the serializer.

    As Django's other backends do, each method takes timeout in seconds, None for never, and 0 or
    less for an entry that is gone at once; TIMEOUT is the default. A value that cannot be loaded,
    for its class was renamed, is a miss. Methods raise what the belt raises: Full, TooLarge,
    NoBelt, NotAllowed.
    """

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        """Use a belt. Raises NoDevice, NoBelt, NotAllowed, and TypeError for an unknown option."""
        super().__init__(params)
        options = {name: value for name, value in (params.get("OPTIONS") or {}).items()
                   if name not in _IGNORED}
        self._belt = _shared_belt(location or _abi.DEFAULT_BELT, **options)

    def get_backend_timeout(self, timeout: Any = DEFAULT_TIMEOUT) -> Any:
        """The time-to-live in seconds, None for never, or 0 for an entry that is gone at once."""
        if timeout == DEFAULT_TIMEOUT:
            timeout = self.default_timeout
        return None if timeout is None else fit_ttl(max(timeout, 0))

    def _key(self, key: Any, version: int | None) -> bytes:
        """The key in the belt. Warns of one that memcached would not take, as Django does."""
        made = self.make_key(key, version=version)
        self.validate_key(made)
        return fit_key(made)

    def add(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT,
            version: int | None = None) -> bool:
        """Store a value if the key has none. Returns whether it was stored."""
        made = self._key(key, version)
        ttl: Seconds = self.get_backend_timeout(timeout)
        return made not in self._belt if ttl == 0 else self._belt.add(made, value, ttl)

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        """The value of a key, or the default."""
        found = self._belt.get(self._key(key, version), default)
        return default if found is UNREADABLE else found

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT,
            version: int | None = None) -> None:
        """Store a value."""
        made = self._key(key, version)
        ttl: Seconds = self.get_backend_timeout(timeout)
        if ttl == 0:
            self._belt.delete(made)
        else:
            self._belt.set(made, value, ttl)

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Set the time-to-live of a key. Returns whether it has a value."""
        made = self._key(key, version)
        ttl: Seconds = self.get_backend_timeout(timeout)
        return self._belt.delete(made) if ttl == 0 else self._belt.touch(made, ttl)

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Remove a key. Returns whether it had a value."""
        return self._belt.delete(self._key(key, version))

    def has_key(self, key: Any, version: int | None = None) -> bool:
        """Whether a key has a value."""
        return self._key(key, version) in self._belt

    def incr(self, key: Any, delta: Any = 1, version: int | None = None) -> Any:
        """Add to the value of a key, which keeps its time-to-live, and return the sum.

        No concurrent addition is lost. Raises ValueError if the key has no value.
        """
        made = self._key(key, version)
        total: Any = None
        try:
            # Integers of 64 bits are stored in decimal.
            if type(delta) is int:
                total = self._belt.incr(made, delta, if_present=True)
        except (Missing, NotNumber, SumTooLarge):
            pass
        if total is None:
            total = add_to(self._belt, made, delta)
        if total is None:
            raise ValueError(f"Key '{key}' not found")
        return total

    def get_many(self, keys: Iterable[Any], version: int | None = None) -> dict[Any, Any]:
        """The values of those keys that have one: one call for 64 keys."""
        made: dict[Key, Any] = {self._key(key, version): key for key in keys}
        return {made[found]: value for found, value in self._belt.get_many(made).items()
                if value is not UNREADABLE}

    def set_many(self, data: Mapping[Any, Any], timeout: Any = DEFAULT_TIMEOUT,
                 version: int | None = None) -> list[Any]:
        """Store values. Tries all, and raises the first error: the list of failed keys is empty."""
        made: dict[Key, Any] = {self._key(key, version): value for key, value in data.items()}
        ttl: Seconds = self.get_backend_timeout(timeout)
        if ttl == 0:
            self._belt.delete_many(made)
        else:
            self._belt.set_many(made, ttl)
        return []

    def delete_many(self, keys: Iterable[Any], version: int | None = None) -> None:
        """Remove keys."""
        self._belt.delete_many([self._key(key, version) for key in keys])

    def get_or_set(self, key: Any, default: Any, timeout: Any = DEFAULT_TIMEOUT,
                   version: int | None = None) -> Any:
        """The value of a key. If it has none, the default is stored and returned.

        If the default is a function, one process of the machine calls it, and others wait for its
        result: see Belt.get_or_set().
        """
        ttl: Seconds = self.get_backend_timeout(timeout)
        if not callable(default) or ttl == 0:
            return super().get_or_set(key, default, timeout=timeout, version=version)
        return self._belt.get_or_set(self._key(key, version), default, ttl)

    def clear(self) -> None:
        """Remove all that the belt has, also under other prefixes and versions."""
        self._belt.clear()


def _make_async(name: str) -> Callable[..., Any]:
    """An async method. No call of a belt waits, so it needs no thread."""
    async def call(self: BeltCache, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)
    call.__name__ = call.__qualname__ = f"a{name}"
    return call


async def _aget_or_set(self: Any, key: Any, default: Any, timeout: Any = DEFAULT_TIMEOUT,
                       version: int | None = None) -> Any:
    """get_or_set(). Another process may compute, and a thread waits for it."""
    async def compute() -> Any:
        return default() if callable(default) else default

    ttl = self.get_backend_timeout(timeout)
    if ttl == 0:
        return self.get_or_set(key, default, timeout, version)
    return await self._belt.aget_or_set(self._key(key, version), compute, ttl)


# Django 3.2 has no async methods; incr_version() and the like call those that are above.
for _name in ("add", "get", "set", "touch", "delete", "has_key", "incr", "decr", "get_many",
              "set_many", "delete_many", "clear", "incr_version", "decr_version", "close"):
    if hasattr(BaseCache, f"a{_name}"):
        setattr(BeltCache, f"a{_name}", _make_async(_name))
if hasattr(BaseCache, "aget_or_set"):
    setattr(BeltCache, "aget_or_set", _aget_or_set)

__all__ = ["BeltCache"]
