# SPDX-License-Identifier: LGPL-2.1-or-later
"""Filling: one process of the machine computes a value, and the others wait for it."""

import asyncio
import ctypes
import errno
import functools
import hashlib
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, NamedTuple, ParamSpec, TypeVar

from . import _abi
from ._batch import encode_key
from ._device import Device, new_buffer
from ._library import library
from ._time import BELT, Seconds, Ttl, milliseconds, ttl_ms, wait_ms
from .errors import FillFailed, FillTimeout, make_error
from .serializer import Serializer

V = TypeVar("V")
P = ParamSpec("P")
R = TypeVar("R")

_ROOM: Final = 4096


class _Answer(NamedTuple):
    """The answer of FILL: bytes or None, the token of a fill lease or 0, and the state."""

    data: bytes | None
    token: int
    state: int


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
        self._serializer = serializer

    def _times(self, ttl: Seconds | Ttl, stale: float, ahead: float, lease: float,
               timeout: Seconds) -> _Times:
        """The times for the kernel.

        An entry lives for ttl and stale together. From the time at which it has stale and ahead
        left, one caller is granted the fill lease, and the others get the value.
        """
        left = ttl_ms(ttl)
        early = 0
        for time in (stale, ahead):
            early += milliseconds(time, "stale and ahead") if time else 0
        if early and left in (_abi.TTL_NEVER, _abi.TTL_KEEP):
            raise ValueError("stale and ahead need a time-to-live that ends: pass ttl")
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
        return err, _Answer(data, token, fill.state)

    def _ask(self, key: bytes, times: _Times, wait: int) -> _Answer:
        """Get a value or a fill lease. Raises FillTimeout, FillFailed and other errors."""
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
        self.device.attempt(library.give_up, key, len(key), token)

    def lease(self, key: bytes, lease: float, timeout: Seconds) -> int:
        """Get the fill lease of a key that has no entry, for lease seconds.

        Returns its token, or 0 if another caller still has it after timeout seconds.
        """
        times = self._times(BELT, 0, 0, lease, timeout)
        try:
            return self._ask(key, times, times.wait).token
        except FillTimeout:
            return 0

    def get(self, key: bytes, compute: Callable[[], V], ttl: Seconds | Ttl, stale: float,
            ahead: float, lease: float, timeout: Seconds) -> V:
        """See Belt.get_or_set()."""
        times = self._times(ttl, stale, ahead, lease, timeout)
        answer = self._ask(key, times, times.wait)
        if not answer.token:
            return self._loaded(answer)
        try:
            value = compute()
            self._store(key, self._serializer.dumps(value), answer.token, times.ttl)
        except BaseException:
            self.give_up(key, answer.token)
            raise
        return value

    def _loaded(self, answer: _Answer) -> V:
        if answer.data is None:
            raise self.device.error(-errno.ETIMEDOUT, _abi.CALL_FILL)
        return self._serializer.loads(answer.data)

    async def get_async(self, key: bytes, compute: Callable[[], Awaitable[V]], ttl: Seconds | Ttl,
                        stale: float, ahead: float, lease: float, timeout: Seconds) -> V:
        """As get(), for a coroutine. A thread waits, and the event loop runs other tasks."""
        times = self._times(ttl, stale, ahead, lease, timeout)
        answer = self._ask(key, times, 0)
        if answer.data is None and not answer.token and times.wait:
            answer = await self._wait(key, times)
        if not answer.token:
            return self._loaded(answer)
        try:
            value = await compute()
            self._store(key, self._serializer.dumps(value), answer.token, times.ttl)
        except BaseException:
            self.give_up(key, answer.token)
            raise
        return value

    async def _wait(self, key: bytes, times: _Times) -> _Answer:
        """Wait in a thread of its own: a pool would be full of those that wait for its members."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Answer] = loop.create_future()

        def pass_on(answer: _Answer | None, error: BaseException | None) -> None:
            if future.done():
                if answer is not None and answer.token:
                    self.give_up(key, answer.token)
            elif error is not None:
                future.set_exception(error)
            elif answer is not None:
                future.set_result(answer)

        def wait() -> None:
            answer: _Answer | None = None
            error: BaseException | None = None
            try:
                answer = self._ask(key, times, times.wait)
            except Exception as raised:  # pylint: disable=broad-except
                error = raised
            try:
                loop.call_soon_threadsafe(pass_on, answer, error)
            except RuntimeError:
                # The loop is closed.
                if answer is not None and answer.token:
                    self.give_up(key, answer.token)

        threading.Thread(target=wait, name="hashbelt-fill", daemon=True).start()
        return await future

    def invalidate(self, key: bytes) -> None:
        """Remove the entry, and end the fill lease: a value that was computed before is late."""
        err = self.device.attempt(library.remove, key, len(key), None)
        if err and err != -errno.ENOENT:
            raise self.device.error(err, _abi.CALL_REMOVE)


def _is_plain(value: Any) -> bool:
    """Whether repr() gives two values the same text only if they are equal."""
    if type(value) is tuple:
        return all(_is_plain(part) for part in value)
    return value is None or type(value) in (str, bytes, int, float, bool)


def make_key(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """The key of a call: the name of the function, and its arguments or their hash."""
    pairs = tuple(sorted(kwargs.items()))
    if not _is_plain(args) or not _is_plain(pairs):
        raise TypeError(f"the arguments of {function.__qualname__}() make no key, for they are not "
                        "only str, bytes, numbers, bool, None and tuples: pass key= to cached()")
    text = repr((args, pairs)).encode("utf-8", "backslashreplace")
    name = f"{function.__module__}.{function.__qualname__}".encode()
    if len(name) + len(text) >= 256:
        text = hashlib.sha256(name + b":" + text).hexdigest().encode()
    return name[:128] + b":" + text


class Cached(Generic[P, R]):
    """A cached function: call it as the function itself. See Belt.cached()."""

    def __init__(self, filler: Filler[Any], function: Callable[P, R],
                 key: Callable[..., str | bytes] | None, times: tuple[Any, ...]) -> None:
        """Decorate a function: use Belt.cached()."""
        functools.update_wrapper(self, function)
        self._filler = filler
        self._function = function
        self._key = key
        self._times = times
        self._is_async = inspect.iscoroutinefunction(function)
        if self._is_async:
            # So that inspect, since Python 3.12, and asyncio know it as one.
            self._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)
            getattr(inspect, "markcoroutinefunction", id)(self)

    def key(self, *args: P.args, **kwargs: P.kwargs) -> bytes:
        """The key of a call with these arguments."""
        if self._key is None:
            return make_key(self._function, args, kwargs)
        key = self._key(*args, **kwargs)
        data = encode_key(key)
        if not 0 < len(data) <= _abi.KEY_MAX:
            raise make_error(-errno.E2BIG, _abi.CALL_FILL)
        return data

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The value of a call, or for an async function a coroutine that returns it."""
        compute = functools.partial(self._function, *args, **kwargs)
        get: Any = self._filler.get_async if self._is_async else self._filler.get
        found: R = get(self.key(*args, **kwargs), compute, *self._times)
        return found

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind the function to an object, as a method."""
        return self if instance is None else functools.partial(self, instance)

    def invalidate(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Forget the value of a call with these arguments.

        A value that another process has begun to compute before is not stored after this.
        """
        self._filler.invalidate(self.key(*args, **kwargs))
