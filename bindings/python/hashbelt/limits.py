# SPDX-License-Identifier: LGPL-2.1-or-later
"""A storage for limits, and so for Flask-Limiter and slowapi.

    import hashbelt.limits

    RATELIMIT_STORAGE_URI = "hashbelt://limits"
"""

import array
import bisect
import time
import urllib.parse
from typing import Final

from limits.storage import MovingWindowSupport, Storage

from . import _abi
from ._frameworks import fit_key
from .belt import Belt, Key, open_belt
from .errors import Changed, Error

# The key of a moving window: one limit may be used with both strategies.
_MOVING: Final = "/moving"
_SIZE: Final = array.array("Q").itemsize
_HITS_MAX: Final = _abi.VALUE_MAX // _SIZE


class BeltStorage(Storage, MovingWindowSupport):
    """Limits in a belt of their own: "hashbelt://" and its name.

    A fixed window is a number, which one call adds to, and which expires with the window. The times
    are those of the belt, to a millisecond, so a step of the clock changes no window. A moving
    window is the list of the times of its hits, 8 bytes each, which is put again only if no other
    hit has come between: it never counts less than all, and a hit reads and writes the whole list.
    The belt must have no policy that refreshes entries, and must not evict. Methods raise what the
    belt raises: Full, NoBelt, NotAllowed.
    """

    STORAGE_SCHEME = ["hashbelt"]

    def __init__(self, uri: str, wrap_exceptions: bool = False, *, owner: int | None = None,
                 path: str = _abi.DEVICE) -> None:
        """Use the belt of the address. It is opened by the first call.

        owner is the uid that the belt must have, and path that of the device.
        """
        super().__init__(uri, wrap_exceptions=wrap_exceptions)
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
            belt = self._opened = open_belt(self._name, owner=self._owner, path=self._path)
        return belt

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
        """The time at which the window ends, or that of now: seconds since 1970, rounded down."""
        entry = self.belt.entry(fit_key(key))
        return int(time.time() + (entry.ttl or 0 if entry else 0))

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
        self.belt.delete_many([fit_key(key), fit_key(key + _MOVING)])

    def _moving(self, key: str, expiry: int) -> "tuple[int, array.array[int], int]":
        """Belt time in nanoseconds, the times of the hits in the window, and their version or 0."""
        now = self.belt.info().now_ns
        hits = array.array("Q")
        entry = self.belt.entry(fit_key(key + _MOVING))
        if entry is None:
            return now, hits, 0
        hits.frombytes(entry.value)
        # Another process may have counted a hit since this one has read the time.
        now = max([now, *hits[-1:]])
        del hits[:bisect.bisect_right(hits, now - expiry * 10 ** 9)]
        return now, hits, entry.version

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count amount hits, unless there are more than limit in the last expiry seconds then.

        Returns whether they were counted. Raises ValueError if limit is more than 131072.
        """
        if limit > _HITS_MAX:
            raise ValueError(f"a moving window of hashbelt has at most {_HITS_MAX} hits, not "
                             f"{limit}: use a fixed window")
        place: Key = fit_key(key + _MOVING)
        while True:
            now, hits, version = self._moving(key, expiry)
            if len(hits) + amount > limit:
                return False
            hits.extend([now] * amount)
            if not version:
                if self.belt.add(place, hits.tobytes(), expiry):
                    return True
                continue
            try:
                self.belt.set(place, hits.tobytes(), expiry, version=version)
                return True
            except Changed:
                continue

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[int, int]:
        """The time of the first hit in the window, seconds since 1970, and the number of hits."""
        del limit
        now, hits, _ = self._moving(key, expiry)
        age = (now - hits[0]) / 10 ** 9 if hits else 0
        return int(time.time() - age), len(hits)


__all__ = ["BeltStorage"]
