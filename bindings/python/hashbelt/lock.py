# SPDX-License-Identifier: LGPL-2.1-or-later
"""Locks. A lock ends when the process of its owner ends, also by SIGKILL."""

import ctypes
import errno
import functools
import inspect
import itertools
import os
import secrets
import threading
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, TypeVar

from . import _abi
from ._device import Device, new_buffer
from ._library import library
from ._tasks import current_task, current_thread, wait_in_thread
from ._time import Seconds, Ttl, ttl_ms, wait_ms
from .errors import LockLost, LockTimeout

F = TypeVar("F", bound=Callable[..., Any])

# Owners of two processes differ, also in two namespaces of process ids.
_process: Final = [secrets.token_hex(8)]
# For how many tasks of a thread other threads wait for a lock. That thread changes it.
_awaited: Final[Counter[tuple[str, str, bytes, bytes]]] = Counter()
_waits: Final = itertools.count(1)


def _new_process() -> None:
    _process[0] = secrets.token_hex(8)
    _awaited.clear()


def _thread_name() -> bytes:
    """The owner that stands for this thread. That of a task begins with it and a colon."""
    return f"python:{_process[0]}:{os.getpid()}:{current_thread()}".encode()


os.register_at_fork(after_in_child=_new_process)


class _Held:
    """A lock that an owner has: its token, how often it was taken, and the thread that renews.

    owner is that in the kernel.
    """

    def __init__(self, token: int, owner: bytes) -> None:
        self.token = token
        self.owner = owner
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

    def __reduce__(self) -> Any:
        """A copy has a descriptor of its own, and no locks."""
        return LockTable, (self.device,)

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

    def note(self, place: tuple[bytes, bytes], token: int, owner: bytes) -> _Held:
        """Note a grant, or that the owner has the lock once more."""
        with self.mutex():
            held = self._table().get(place)
            fresh = held is None or held.token != token
            if held is None or fresh:
                if held is not None and held.stop is not None:
                    # The lease of the former grant has ended before its release.
                    held.stop.set()
                held = self._table()[place] = _Held(token, owner)
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
    seconds of belt time, None for ever and 0 not at all. The owner is the task of asyncio or the
    greenlet that calls, or the thread where none runs, or the one that is passed (1 to 64 bytes):
    pass one if another task releases the lock. An owner that has the lock may take it again, and
    releases it as often.

    In a task, "async with" waits in a thread of its own, so that other tasks run meanwhile. "with"
    would stop them all: it raises LockTimeout at once if one of them, or of the thread's greenlets,
    would have to release the lock.
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
            task = current_task()
            owner = _thread_name() + (b":%d" % task if task else b"")
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
        owner = self._owner_of(place)
        token = self._take(owner, 0)
        if not token:
            if self._owner is None:
                self._check_thread(owner)
            token = self._take(owner, self._wait)
        self._begin(place, token, owner)
        return token

    def _owner_of(self, place: tuple[bytes, bytes]) -> bytes:
        """The owner in the kernel."""
        held = self._table.find(place)
        return place[1] if held is None else held.owner

    def _take(self, owner: bytes, wait: int) -> int:
        """Wait for the lock. Returns the token, or 0 if the lock would wait and wait is 0."""
        argument = _abi.Lock(how=_abi.BOUND, ttl_ms=self._ttl, wait_ms=wait)
        device = self._table.device
        err = device.attempt(library.lock, self._name, len(self._name), owner, len(owner),
                             ctypes.byref(argument))
        if err == -errno.EBUSY and not wait and self._wait:
            return 0
        if err:
            raise device.error(err, _abi.CALL_LOCK)
        return int(argument.token)

    def _begin(self, place: tuple[bytes, bytes], token: int, owner: bytes) -> None:
        """Note a grant, and renew it if that is asked for."""
        held = self._table.note(place, token, owner)
        if self._renew and held.stop is None:
            held.stop = threading.Event()
            threading.Thread(target=self._renew_often, args=(held, held.stop, owner),
                             name="hashbelt-renew", daemon=True).start()

    def _check_thread(self, owner: bytes) -> None:
        """Raise LockTimeout if a task or a greenlet of this thread has to release the lock."""
        thread = _thread_name()
        holder = self._holder()
        if self._waits_of(thread) not in _awaited and (
                holder == owner or holder != thread and not holder.startswith(thread + b":")):
            return
        raise LockTimeout(errno.EDEADLK, "another task or greenlet of this thread has that lock in "
                          f"belt '{self._table.device.name}', and could not release it while this "
                          "one waits: use 'async with', timeout=0 or owner=")

    def _holder(self) -> bytes:
        """The owner that has the lock, or no bytes."""
        owner = new_buffer(_abi.OWNER_MAX)
        size = ctypes.c_size_t(len(owner))
        err = self._table.device.attempt(library.holder, self._name, len(self._name), owner,
                                         ctypes.byref(size), None)
        return b"" if err else bytes(owner[:size.value])

    def _waits_of(self, thread: bytes) -> tuple[str, str, bytes, bytes]:
        """The key of _awaited for the tasks of a thread that wait for this lock."""
        return self._table.device.path, self._table.device.name, self._name, thread

    async def _wait_async(self, place: tuple[bytes, bytes]) -> tuple[int, bytes]:
        """Wait for the lock in a thread of its own. Returns the token and the owner."""
        owner = place[1]
        if self._owner is None:
            # The end of a wait that is cancelled does not end a later grant to the task.
            owner += b":%d" % next(_waits)

        def undo(token: int) -> None:
            if self._owner is None or self._table.find(place) is None:
                self._table.device.attempt(library.unlock, self._name, len(self._name), owner,
                                           len(owner))

        waits = self._waits_of(_thread_name())
        _awaited[waits] += 1
        try:
            return await wait_in_thread(lambda: self._take(owner, self._wait), undo), owner
        finally:
            _awaited[waits] -= 1
            if not _awaited[waits]:
                del _awaited[waits]

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
        self._set_lease(self._owner_of(self._place()), self._ttl if ttl is None else ttl_ms(ttl))

    def release(self) -> None:
        """Release the lock, when it was released as often as taken. Raises LockLost."""
        place = self._place()
        held, is_last = self._table.leave(place)
        if held is not None and not is_last:
            return
        if held is not None and held.stop is not None:
            held.stop.set()
        self._call(_abi.CALL_UNLOCK, library.unlock, place[1] if held is None else held.owner)

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

    async def __aenter__(self) -> "Lock":
        place = self._place()
        owner = self._owner_of(place)
        token = self._take(owner, 0)
        if not token:
            token, owner = await self._wait_async(place)
        self._begin(place, token, owner)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: F) -> F:
        """Decorate a function, or an async one: each call takes the lock, and runs under it."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__qualname__}() is a generator, whose body runs after the "
                            "call: take the lock in the body")

        @functools.wraps(function)
        def locked(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        @functools.wraps(function)
        async def locked_async(*args: Any, **kwargs: Any) -> Any:
            async with self:
                return await function(*args, **kwargs)

        found: Any = locked_async if inspect.iscoroutinefunction(function) else locked
        return found  # type: ignore[no-any-return]
