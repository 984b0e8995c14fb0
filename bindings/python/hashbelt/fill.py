# SPDX-License-Identifier: LGPL-2.1-or-later
"""Filling: one process of the machine computes a value, and the others wait for it."""

import asyncio
import contextlib
import ctypes
import errno
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, ParamSpec, TypeVar

from . import _abi
from ._backend import NONE, native
from ._batch import encode_key
from ._calls import Calls
from ._device import Device, new_buffer
from ._fills import (Place, filling, forget_mutex, is_mutex_of_neighbour, note_mutex, waiting)
from ._frequent import Keys
from ._library import library
from ._tasks import wait_in_thread
from ._time import BELT, Seconds, Ttl, milliseconds, ttl_ms, wait_ms
from .errors import FillFailed, FillTimeout, make_error
from .serializer import UNREADABLE, Serializer, loads_of

V = TypeVar("V")
P = ParamSpec("P")
R = TypeVar("R")

_ROOM: Final = 4096


def _early_ms(left: int, stale: float, ahead: float) -> int:
    """The time that a present entry has left when it needs no other value, milliseconds."""
    early = 0
    for time in (stale, ahead):
        early += milliseconds(time, "stale and ahead") if time else 0
    if early and left in (_abi.TTL_NEVER, _abi.TTL_KEEP):
        raise ValueError("stale and ahead need a time-to-live that ends: pass ttl")
    return early


@functools.lru_cache(256, typed=True)
def least_ms(ttl: Seconds | Ttl, stale: float, ahead: float, lease: float, timeout: Seconds) -> int:
    """Check the times that a caller has passed, and return _early_ms() of them."""
    milliseconds(lease, "a lease")
    wait_ms(timeout)
    return _early_ms(ttl_ms(ttl), stale, ahead)


class _Answer(NamedTuple):
    """The answer of FILL: bytes or None, the token of a fill lease or 0, and the state.

    version is that of the entry, and value what its bytes are, if no fill lease was granted.
    """

    data: bytes | None
    token: int
    state: int
    version: int
    value: Any = None


class _Times(NamedTuple):
    """Times of a fill for the kernel, milliseconds."""

    ttl: int
    ahead: int
    lease: int
    wait: int


class Filler(Generic[V]):
    """Fills keys of a belt."""

    def __init__(self, device: Device, serializer: Serializer[V]) -> None:
        """Fill keys by a descriptor."""
        self.device = device
        self.keys: Keys[V] = Keys(device, serializer.dumps, loads_of(serializer))
        self._serializer = serializer

    def _times(self, ttl: Seconds | Ttl, stale: float, ahead: float, lease: float,
               timeout: Seconds) -> _Times:
        """The times for the kernel.

        An entry lives for ttl and stale together. From the time at which it has stale and ahead
        left, one caller is granted the fill lease, and the others get the value.
        """
        left = ttl_ms(ttl)
        early = _early_ms(left, stale, ahead)
        if stale:
            if left == _abi.TTL_BELT:
                info = _abi.Info()
                self.device.call(_abi.CALL_INFO, library.info, ctypes.byref(info))
                left = info.ttl_ms
            left += milliseconds(stale)
        return _Times(left, early, milliseconds(lease, "a lease"), wait_ms(timeout))

    def _fill(self, key: bytes, times: _Times, wait: int) -> tuple[int, _Answer]:
        """Get a value or a fill lease. Returns 0 or a negative error, and the answer."""
        fill = _abi.Fill(lease_ms=times.lease, ahead_ms=times.ahead, wait_ms=wait, how=_abi.BOUND)
        size = _ROOM
        while True:
            room = new_buffer(size)
            err = self.device.attempt(library.fill, key, len(key), room, size, ctypes.byref(fill))
            if err != -errno.ERANGE:
                break
            size = fill.item.value_len
        data = room[:fill.item.value_len] if not err else None
        token = fill.token if fill.state & _abi.GRANTED and err in (0, -errno.ENOENT) else 0
        return err, _Answer(data, token, fill.state, fill.item.version)

    def _ask(self, key: bytes, times: _Times, wait: int) -> _Answer:
        """Get a value or a fill lease. Raises FillTimeout, FillFailed and other errors.

        Bytes that are no value, as those of a class that was renamed, are removed: a miss.
        """
        while True:
            answer = self._ask_once(key, times, wait)
            if answer.token or answer.data is None:
                return answer
            value: Any = UNREADABLE
            with contextlib.suppress(Exception):
                value = self._serializer.loads(answer.data)
            if value is not UNREADABLE:
                return answer._replace(value=value)
            item = _abi.Item(how=_abi.IF_VERSION, version=answer.version)
            err = self.device.attempt(library.remove, key, len(key), ctypes.byref(item))
            if err not in (0, -errno.ENOENT, -errno.ESTALE):
                raise self.device.error(err, _abi.CALL_REMOVE)

    def _ask_once(self, key: bytes, times: _Times, wait: int) -> _Answer:
        err, answer = self._fill(key, times, wait)
        if err == -errno.ENOENT:
            if answer.token or not wait:
                return answer
            if answer.state & _abi.FAILED:
                raise FillFailed(errno.ECANCELED, f"another caller could not compute the value of "
                                 f"that key in belt '{self.device.name}': ask again later")
            err = -errno.ETIMEDOUT
        if err:
            raise self.device.error(err, _abi.CALL_FILL)
        return answer

    def _store(self, key: bytes, data: bytes, token: int, ttl: int) -> None:
        """Put what was computed, unless the fill lease has ended."""
        item = _abi.Item(ttl_ms=ttl)
        err = self.device.attempt(library.fill_put, key, len(key), data, len(data), token,
                                  ctypes.byref(item))
        if err and err != -errno.ESTALE:
            raise self.device.error(err, _abi.CALL_FILL_PUT)

    def give_up(self, key: bytes, token: int) -> None:
        """Give a fill lease up: the next waiter is granted one. One that has ended is ignored."""
        forget_mutex(self._place(key), token)
        self.device.attempt(library.give_up, key, len(key), token)

    def lease(self, key: bytes, lease: float, timeout: Seconds) -> int:
        """Get the fill lease of a key that has no entry, for lease seconds.

        Returns its token, or 0 if another caller still has it after timeout seconds, or if a task
        or a greenlet that this one would stop has it.
        """
        times = self._times(BELT, 0, 0, lease, timeout)
        place = self._place(key)
        try:
            token = self._ask(key, times, 0).token
            if not token and times.wait and not is_mutex_of_neighbour(place):
                token = self._ask(key, times, times.wait).token
        except FillTimeout:
            return 0
        if token:
            note_mutex(place, token)
        return token

    def _place(self, key: bytes) -> Place:
        return self.device.path, self.device.name, key

    def get(self, key: bytes, compute: Callable[[], V], ttl: Seconds | Ttl, stale: float,
            ahead: float, lease: float, timeout: Seconds) -> V:
        """Belt.get_or_set(), after a get that has found nothing."""
        times = self._times(ttl, stale, ahead, lease, timeout)
        answer = self._ask(key, times, 0)
        if answer.data is None and not answer.token and times.wait:
            with waiting(self._place(key), in_kernel=True) as is_own:
                if not is_own:
                    answer = self._ask(key, times, times.wait)
            if is_own:
                return compute()
        if not answer.token:
            return self._loaded(answer)
        try:
            with filling(self._place(key)):
                value = compute()
            self._store(key, self._serializer.dumps(value), answer.token, times.ttl)
        except BaseException:
            self.give_up(key, answer.token)
            raise
        return value

    def _loaded(self, answer: _Answer) -> V:
        if answer.data is None:
            raise self.device.error(-errno.ETIMEDOUT, _abi.CALL_FILL)
        return answer.value  # type: ignore[no-any-return]

    async def get_async(self, key: bytes, compute: Callable[[], Awaitable[V]], ttl: Seconds | Ttl,
                        stale: float, ahead: float, lease: float, timeout: Seconds) -> V:
        """Belt.get_or_set() in a task. A thread waits, and the event loop runs other tasks."""
        found: Any = self.keys._found(key, least_ms(ttl, stale, ahead, lease, timeout), NONE)
        if found is not NONE:
            return found  # type: ignore[no-any-return]
        times = self._times(ttl, stale, ahead, lease, timeout)
        answer = self._ask(key, times, 0)
        if answer.data is None and not answer.token and times.wait:
            with waiting(self._place(key), in_kernel=False) as is_own:
                if not is_own:
                    answer = await self._wait(key, times)
            if is_own:
                return await compute()
        if not answer.token:
            return self._loaded(answer)
        try:
            with filling(self._place(key)):
                value = await compute()
            self._store(key, self._serializer.dumps(value), answer.token, times.ttl)
        except BaseException:
            self.give_up(key, answer.token)
            raise
        return value

    async def _wait(self, key: bytes, times: _Times) -> _Answer:
        """Wait in a thread of its own, which may be granted the fill lease."""
        def undo(answer: _Answer) -> None:
            if answer.token:
                self.give_up(key, answer.token)

        with filling(self._place(key)):
            return await wait_in_thread(lambda: self._ask(key, times, times.wait), undo)

    def invalidate(self, key: bytes) -> None:
        """Remove the entry, and end the fill lease: a value that was computed before is late."""
        err = self.device.attempt(library.remove, key, len(key), None)
        if err and err != -errno.ENOENT:
            raise self.device.error(err, _abi.CALL_REMOVE)


if TYPE_CHECKING or native is None:
    class CachedBase:
        """Answers calls that are hits."""

        _answer: Callable[..., Any]

        def _begin(self, *_: Any) -> None:
            """Take the parts of a key, of which the extension makes keys."""

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self._answer(*args, **kwargs)
else:
    from ._native import CachedBase


class Cached(CachedBase, Generic[P, R]):
    """A cached function: call it as the function itself. See Belt.cached()."""

    def __init__(self, filler: Filler[Any], function: Callable[P, R],
                 key: Callable[..., str | bytes] | None, times: tuple[Any, ...],
                 name: str | None = None) -> None:
        """Decorate a function: use Belt.cached()."""
        calls = Calls(function, name, key)
        function = calls.function
        # An object that is called has attributes of its own.
        functools.update_wrapper(self, function, updated=("__dict__",) *
                                 inspect.isroutine(function))
        self._calls = calls
        self._filler = filler
        self._function = function
        self._times = times
        self._is_async = (inspect.iscoroutinefunction(function) or
                          inspect.iscoroutinefunction(getattr(type(function), "__call__")))
        if self._is_async:
            # So that inspect, since Python 3.12, and asyncio know it as one.
            self._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)
            getattr(inspect, "markcoroutinefunction", id)(self)
        self._least_ms = least_ms(*times)
        parts = None if self._is_async else calls.parts()
        if parts is not None:
            self._begin(filler.keys, *parts, self._least_ms)

    def __reduce__(self) -> str:
        """A cached function is pickled and copied as a function: by its name."""
        return str(self.__qualname__)

    def __getattr__(self, name: str) -> Any:
        """The annotations of the function, which Python 3.14 evaluates when they are asked for."""
        if name == "__annotations__":
            return self._function.__annotations__
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def key(self, *args: P.args, **kwargs: P.kwargs) -> bytes:
        """The key of a call with these arguments."""
        data = encode_key(self._calls.key(args, kwargs))
        if not 0 < len(data) <= _abi.KEY_MAX:
            raise make_error(-errno.E2BIG, _abi.CALL_FILL)
        return data

    if TYPE_CHECKING:
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
            """The value of a call, or for an async function a coroutine that returns it."""

    def _answer(self, *args: Any, **kwargs: Any) -> Any:
        """The value of a call that CachedBase leaves to this."""
        key = self.key(*args, **kwargs)
        found: Any = NONE
        if not self._is_async:
            found = self._filler.keys._found(key, self._least_ms, NONE)
        return self._missed(key, args, kwargs) if found is NONE else found

    def _missed(self, key: bytes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value of a call, of which a get has found none."""
        compute = functools.partial(self._function, *args, **kwargs)
        get: Any = self._filler.get_async if self._is_async else self._filler.get
        return get(key, compute, *self._times)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind the function to an object, as a method."""
        return self._calls.bind(self, instance, owner)

    def invalidate(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Forget the value of a call with these arguments.

        A value that another process has begun to compute before is not stored after this.
        """
        self._filler.invalidate(self.key(*args, **kwargs))
