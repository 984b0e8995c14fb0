# SPDX-License-Identifier: LGPL-2.1-or-later
"""Storages for limits, and so for Flask-Limiter and slowapi.

    import hashbelt.limits

    RATELIMIT_STORAGE_URI = "hashbelt://limits"

The strategies of limits.aio take "async+hashbelt://limits".
"""

import bisect
import functools
import itertools
import json
import math
import time
import urllib.parse
from collections.abc import Callable
from typing import Any, Final

from limits.aio.storage import MovingWindowSupport as AsyncMovingWindowSupport
from limits.aio.storage import Storage as AsyncStorage
from limits.storage import MovingWindowSupport, Storage

from . import _abi
from ._frameworks import fit_key
from ._time import KEEP, Seconds, Ttl
from .belt import Belt, open_belt
from .errors import Changed, Error, Missing

try:
    from limits.aio.storage import SlidingWindowCounterSupport as _AsyncSliding
    from limits.storage import SlidingWindowCounterSupport as _Sliding
except ImportError:     # before limits 4.1
    _Sliding = _AsyncSliding = object

# The keys of windows: one limit may be used with all strategies.
_MOVING: Final = "/moving"
_SLIDING: Final = "/sliding"
_HITS_MAX: Final = 131072
# Seconds: belt time is up to a tick of the kernel behind the clock, and rounds to milliseconds.
_TICK: Final = 0.012


def _at(left: float) -> int:
    """The time in so many seconds: seconds since 1970, so that belt time is there by then."""
    return math.ceil(time.time() + left + _TICK)


class _Windows:
    """The methods that both storages have.

    The state of a moving window and of a sliding window counter is a list of numbers, in JSON. Its
    times are milliseconds before the deadline of its entry: a dump, and so a reboot, keeps these.
    The entry is put again only if no other hit has come between, so no hit is lost. Most puts keep
    its deadline, for each that sets one moves the times by up to a millisecond.
    """

    def __init__(self, uri: str, wrap_exceptions: bool = False, *, owner: int | None = None,
                 path: str = _abi.DEVICE) -> None:
        """Use the belt of the address. It is opened by the first call.

        owner is the uid that the belt must have, and path that of the device.
        """
        super().__init__(uri, wrap_exceptions=wrap_exceptions)  # type: ignore[call-arg]
        self._name = urllib.parse.unquote(uri.partition("://")[2]) or _abi.DEFAULT_BELT
        self._owner = owner
        self._path = path
        self._opened: Belt[bytes] | None = None

    @property
    def base_exceptions(self) -> type[Exception]:
        """The exceptions of this storage, which later versions of limits may wrap."""
        return Error

    @property
    def belt(self) -> Belt[bytes]:
        """The belt. Raises NoDevice, NoBelt, NotAllowed."""
        belt = self._opened
        if belt is None:
            belt = self._opened = open_belt(self._name, owner=self._owner, path=self._path,
                                            keep_bound=True)
        return belt

    def __reduce__(self) -> Any:
        """A storage is pickled and copied as its address and settings: a copy opens the belt."""
        scheme = type(self).STORAGE_SCHEME[0]  # type: ignore[attr-defined]
        return (type(self), (f"{scheme}://{urllib.parse.quote(self._name, '')}",
                             getattr(self, "wrap_exceptions", False)),
                {"_owner": self._owner, "_path": self._path})

    def incr(self, key: str, expiry: int, elastic_expiry: bool = False, amount: int = 1) -> int:
        """Count a hit, and return the number of hits in the window.

        The window lasts for expiry seconds from its first hit, or with elastic_expiry from its last
        one.
        """
        place = fit_key(key)
        while True:
            count = self.belt.incr(place, amount, ttl=expiry)
            # A window that has ended meanwhile has not counted the hit for the next one.
            if not elastic_expiry or self.belt.touch(place, expiry):
                return count

    def get(self, key: str) -> int:
        """The number of hits in the window."""
        return int(self.belt.get(fit_key(key)) or 0)

    def get_expiry(self, key: str) -> int:
        """The time at which the window has ended, or now: seconds since 1970, rounded up."""
        entry = self.belt.entry(fit_key(key))
        return _at(entry.ttl or 0 if entry else 0)

    def check(self) -> bool:
        """Whether the belt can be used. After a failure the next call opens it again."""
        try:
            self.belt.info()
        except Error:
            self._opened = None
            return False
        return True

    def reset(self) -> int | None:
        """Remove all that the belt has."""
        self.belt.clear()
        return None

    def clear(self, key: str) -> None:
        """Forget the hits of a limit."""
        self.belt.delete_many([fit_key(key + end) for end in ("", _MOVING, _SLIDING)])

    def _state(self, key: str) -> tuple[int, list[int], int]:
        """The milliseconds that an entry has left, its numbers, and its version or 0."""
        entry = self.belt.entry(fit_key(key))
        if entry is None:
            return 0, [], 0
        try:
            numbers = json.loads(entry.value)
        except (ValueError, RecursionError):
            numbers = None
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            numbers = []
        return round((entry.ttl or 0) * 1000), numbers, entry.version

    def _put(self, key: str, numbers: list[int], left: int | None, version: int) -> bool:
        """Put numbers, unless another put came before. left is None for the present deadline."""
        data = json.dumps(numbers, separators=(",", ":")).encode()
        ttl: Seconds | Ttl = KEEP if left is None else min(left, _abi.TTL_MAX_MS) / 1000
        if not version:
            return self.belt.add(fit_key(key), data, ttl)
        try:
            self.belt.set(fit_key(key), data, ttl, version=version)
        except (Changed, Missing):
            return False
        return True

    def _moving(self, key: str, expiry: int) -> tuple[int, list[int], int]:
        """The state of a moving window: the times of its hits, from the last one to the first.

        The entry has the time of the last hit, and from each to the one before the difference.
        """
        left, numbers, version = self._state(key + _MOVING)
        hits = list(itertools.accumulate(numbers))
        del hits[bisect.bisect_left(hits, left + expiry * 1000):]
        return left, hits, version

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count amount hits, unless there are more than limit in the last expiry seconds then.

        Returns whether they were counted. Raises ValueError if limit is more than 131072, and
        TooLarge if a window of years has too many.
        """
        if limit > _HITS_MAX:
            raise ValueError(f"a moving window of hashbelt has at most {_HITS_MAX} hits, not "
                             f"{limit}: use a fixed window")
        while True:
            left, hits, version = self._moving(key, expiry)
            if len(hits) + amount > limit:
                return False
            hits = [left] * amount + hits
            numbers = hits[:1] + [one - after for after, one in itertools.pairwise(hits)]
            deadline = None
            if left < expiry * 1000:
                # The entry would end before the hit is out of the window.
                deadline = 2 * expiry * 1000
                numbers[0] = deadline
            if self._put(key + _MOVING, numbers, deadline, version):
                return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[int, int]:
        """The time of the first hit in the window, seconds since 1970, and the number of hits.

        The time is rounded up, so that after it and expiry the hit is out of the window.
        """
        del limit
        left, hits, _ = self._moving(key, expiry)
        return _at((left - hits[-1]) / 1000 if hits else 0), len(hits)

    def _sliding(self, key: str, expiry: int) -> tuple[int, list[int], bool, int]:
        """The state of a counter: left, the two counts, whether a window has ended, the version.

        left are the milliseconds to the end of the window after the present one: until then the
        hits of this one count. That is the deadline of the entry.
        """
        left, counts, version = self._state(key + _SLIDING)
        if len(counts) != 2 or not left:
            return 2 * expiry * 1000, [0, 0], True, version
        if left > expiry * 1000:
            return left, counts, False, version
        return left + expiry * 1000, [counts[1], 0], True, version

    def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1,
                                     ) -> bool:
        """Count amount hits, unless the weighted count of two windows is more than limit then.

        A window begins with the first hit after the end of the one before.
        """
        while True:
            left, counts, ended, version = self._sliding(key, expiry)
            rest = left - expiry * 1000
            if counts[0] * rest // (expiry * 1000) + counts[1] + amount > limit:
                return False
            counts = [counts[0], counts[1] + amount]
            if self._put(key + _SLIDING, counts, left if ended else None, version):
                return True

    def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        """The hits of the window before, the seconds that it still counts; the same of this one."""
        left, counts, _, _ = self._sliding(key, expiry)
        rest = left - expiry * 1000
        # limits takes the remainder by expiry as the time to the end of the window.
        left = min(left, 2 * expiry * 1000 - 1)
        return (counts[0], rest / 1000 if counts[0] else 0.0,
                counts[1], left / 1000 if counts[1] else 0.0)


class BeltStorage(_Windows, Storage, MovingWindowSupport, _Sliding):
    """Limits in a belt of their own: "hashbelt://" and its name.

    A fixed window is a number, which one call adds to, and which expires with the window. The times
    are those of the belt, to a millisecond, so a step of the clock changes no window. A moving
    window is the list of the times of its hits, and a sliding window counter two numbers: these are
    put again only if no other hit has come between, so a hit of a moving window reads and writes
    the whole list. The belt must have no policy that refreshes entries, and must not evict. Methods
    raise what the belt raises: Full, NoBelt, NotAllowed.
    """

    STORAGE_SCHEME = ["hashbelt"]


def _awaited(method: Callable[..., Any]) -> Any:
    """A method as a coroutine. No call of a belt waits, so it needs no thread."""
    @functools.wraps(method)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)
    return call


class AsyncBeltStorage(_Windows, AsyncStorage, AsyncMovingWindowSupport, _AsyncSliding):
    """BeltStorage for the strategies of limits.aio: "async+hashbelt://" and its name."""

    STORAGE_SCHEME = ["async+hashbelt"]

    incr = _awaited(_Windows.incr)
    get = _awaited(_Windows.get)
    get_expiry = _awaited(_Windows.get_expiry)
    check = _awaited(_Windows.check)
    reset = _awaited(_Windows.reset)
    clear = _awaited(_Windows.clear)
    acquire_entry = _awaited(_Windows.acquire_entry)
    get_moving_window = _awaited(_Windows.get_moving_window)
    acquire_sliding_window_entry = _awaited(_Windows.acquire_sliding_window_entry)
    get_sliding_window = _awaited(_Windows.get_sliding_window)


__all__ = ["AsyncBeltStorage", "BeltStorage"]
