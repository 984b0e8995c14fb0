# SPDX-License-Identifier: LGPL-2.1-or-later
"""Locks. A lock ends when the process of its owner ends, also by SIGKILL."""

import ctypes
import errno
import functools
import os
import secrets
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, TypeVar

from . import _abi
from ._device import Device
from ._library import library
from ._time import Seconds, Ttl, ttl_ms, wait_ms
from .errors import LockLost

F = TypeVar("F", bound=Callable[..., Any])

# Owners of two processes differ, also in two namespaces of process ids.
_process: Final = [secrets.token_hex(8)]


def _new_process() -> None:
    _process[0] = secrets.token_hex(8)


os.register_at_fork(after_in_child=_new_process)


class _Held:
    """A lock that an owner has: its token, how often it was taken, and the thread that renews."""

    def __init__(self, token: int) -> None:
        self.token = token
        self.depth = 0
        self.stop: threading.Event | None = None
        self.lost = False


class LockTable:
    """The locks that this process has by one descriptor."""

    def __init__(self, device: Device) -> None:
        """Begin without locks."""
        self.device = device
        self._mutex = threading.Lock()
        self._held: dict[tuple[bytes, bytes], _Held] = {}
        self._process = _process[0]

    def _table(self) -> dict[tuple[bytes, bytes], _Held]:
        """The locks; in a child of fork() there are none. The caller has the mutex."""
        if self._process != _process[0]:
            self._process = _process[0]
            self._held = {}
        return self._held

    def mutex(self) -> threading.Lock:
        """The lock around the table. A child of fork() makes its own."""
        if self._process != _process[0]:
            self._mutex = threading.Lock()
            with self._mutex:
                self._table()
        return self._mutex

    def find(self, place: tuple[bytes, bytes]) -> _Held | None:
        """The lock of this name and owner, or None."""
        with self.mutex():
            return self._table().get(place)

    def note(self, place: tuple[bytes, bytes], token: int) -> _Held:
        """Note a grant, or that the owner has the lock once more."""
        with self.mutex():
            held = self._table().get(place)
            fresh = held is None or held.token != token
            if held is None or fresh:
                if held is not None and held.stop is not None:
                    # The lease of the former grant has ended before its release.
                    held.stop.set()
                held = self._table()[place] = _Held(token)
            held.depth += 1
            return held

    def leave(self, place: tuple[bytes, bytes]) -> tuple[_Held | None, bool]:
        """Note a release. Returns the lock, and whether that was the last one."""
        with self.mutex():
            held = self._table().get(place)
            if held is None:
                return None, False
            held.depth -= 1
            if held.depth:
                return held, False
            del self._table()[place]
            return held, True


class Lock:
    """A lock of a belt, for "with", as a decorator, or with acquire() and release().

    The belt has to be pinned, and must not evict. The lock is bound to the belt's descriptor: it
    ends with the process at the latest. ttl is the lease in seconds, at most the belt's
    time-to-live; with renew, a thread renews it until release(). timeout is the time to wait in
    seconds of belt time, None for ever and 0 not at all. The owner is the calling thread, or the
    one that is passed (1 to 64 bytes). An owner that has the lock may take it again, and releases
    it as often.
    """

    def __init__(self, table: LockTable, name: bytes, ttl: Seconds | Ttl, timeout: Seconds,
                 renew: bool, owner: str | bytes | None) -> None:
        """Describe a lock: use Belt.lock()."""
        self._table = table
        self._name = name
        self._ttl = ttl_ms(ttl)
        self._wait = wait_ms(timeout)
        self._renew = renew
        self._owner = owner.encode() if isinstance(owner, str) else owner

    def _place(self) -> tuple[bytes, bytes]:
        owner = self._owner
        if owner is None:
            owner = f"python:{_process[0]}:{os.getpid()}:{threading.get_native_id()}".encode()
        return self._name, owner

    def _call(self, call: int, function: Callable[..., int], owner: bytes, *arguments: Any) -> None:
        """Call a function for this lock and an owner. Raises its error."""
        self._table.device.call(call, function, self._name, len(self._name), owner, len(owner),
                                *arguments)

    def acquire(self) -> int:
        """Take the lock. Returns the fencing token, which is larger for each later grant.

        Raises LockTimeout, Full, NotAllowed, and Error if the lease is longer than the belt's
        time-to-live, or if the belt may drop locks.
        """
        place = self._place()
        argument = _abi.Lock(how=_abi.BOUND, ttl_ms=self._ttl, wait_ms=self._wait)
        self._call(_abi.CALL_LOCK, library.lock, place[1], ctypes.byref(argument))
        held = self._table.note(place, argument.token)
        if self._renew and held.stop is None:
            held.stop = threading.Event()
            threading.Thread(target=self._renew_often, args=(held, held.stop, place[1]),
                             name="hashbelt-renew", daemon=True).start()
        return int(argument.token)

    def _lease(self) -> float:
        """The lease, seconds."""
        if self._ttl:
            return self._ttl / 1000
        info = _abi.Info()
        self._table.device.call(_abi.CALL_INFO, library.info, ctypes.byref(info))
        return info.ttl_ms / 1000

    def _renew_often(self, held: _Held, stop: threading.Event, owner: bytes) -> None:
        """Renew the lease when a third of it has passed, until the lock is released or lost."""
        try:
            pause = self._lease() / 3
            while not stop.wait(min(pause, threading.TIMEOUT_MAX)):
                self._set_lease(owner, self._ttl | _abi.AT_LEAST if self._ttl else 0)
        except (OSError, ValueError):
            held.lost = True

    def _set_lease(self, owner: bytes, ttl: int) -> None:
        self._call(_abi.CALL_RENEW, library.renew, owner, ttl, None)

    def renew(self, ttl: Seconds | Ttl | None = None) -> None:
        """Set the lease, from now on; without ttl to that of the lock. Raises LockLost, Error."""
        self._set_lease(self._place()[1], self._ttl if ttl is None else ttl_ms(ttl))

    def release(self) -> None:
        """Release the lock, when it was released as often as taken. Raises LockLost."""
        place = self._place()
        held, is_last = self._table.leave(place)
        if held is not None and not is_last:
            return
        if held is not None and held.stop is not None:
            held.stop.set()
        self._call(_abi.CALL_UNLOCK, library.unlock, place[1])

    @property
    def token(self) -> int:
        """The fencing token of the grant. Raises LockLost if this owner does not have the lock."""
        held = self._table.find(self._place())
        if held is None or held.lost:
            raise self._table.device.error(-errno.ENOENT, _abi.CALL_UNLOCK)
        return held.token

    def __enter__(self) -> "Lock":
        self.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.release()
        except LockLost:
            # The exception of the block says more.
            if error is None:
                raise

    def __call__(self, function: F) -> F:
        """Decorate a function: each call takes the lock."""
        @functools.wraps(function)
        def locked(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)
        return locked  # type: ignore[return-value]
