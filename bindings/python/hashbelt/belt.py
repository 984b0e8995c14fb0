# SPDX-License-Identifier: LGPL-2.1-or-later
"""Belts as mappings."""

import asyncio
import ctypes
import errno
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import closing
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Generic, NamedTuple, ParamSpec, TypeVar, overload

from . import _abi
from ._backend import NONE
from ._batch import Batches, Key, encode_key, pieces
from ._device import Device, Handle, encode_name, open_handle
from ._frequent import Keys
from ._library import library
from ._one import call_key, put_bytes, read_entry
from ._time import BELT, Seconds, Ttl, milliseconds, ttl_ms
from .errors import Changed, Error, Exists, Missing, TooLarge, make_error
from .events import Events
from .fill import Cached, Filler, least_ms
from .lock import Lock, LockTable
from .request import Completion, Requests
from .serializer import Bytes, Serializer, loads_of

V = TypeVar("V")
D = TypeVar("D")
P = ParamSpec("P")
R = TypeVar("R")

# Keys of a scan that are read at a time.
_SCANNED: Final = 256
# The value of a setting. A time is in seconds, and None is the default.
Setting = int | float | timedelta | None


class Entry(NamedTuple, Generic[V]):
    """An entry. ttl is the time that it has left, in seconds, or None if it does not expire."""

    value: V
    version: int
    ttl: float | None


def _checked(key: Key) -> bytes:
    """The bytes of a key. Raises TypeError and TooLarge."""
    data = encode_key(key)
    if not 0 < len(data) <= _abi.KEY_MAX:
        raise make_error(-errno.E2BIG, _abi.CALL_GET)
    return data


class Belt(Keys[V], MutableMapping[Key, V]):
    """A belt.

    Threads may share it. In a child of fork() it opens a descriptor of its own: entries, locks and
    fill leases that are bound to the parent's descriptor stay the parent's.

    ttl= is a time-to-live in seconds (int or float) or as a timedelta, None for an entry that does
    not expire, hashbelt.BELT (the default) for the belt's own, or hashbelt.KEEP for that of the
    present entry. Keys are bytes, or str in UTF-8; iteration returns bytes. Each method may raise
    NotAllowed, NoBelt if the belt was destroyed, TooLarge, and ValueError after close().
    """

    def __init__(self, name: str, serializer: Serializer[V], *, path: str = _abi.DEVICE,
                 owner: int | None = None, keep_bound: bool = False) -> None:
        """Bind a descriptor to the belt: use hashbelt.open()."""
        self.name = name
        self.serializer = serializer
        self._device = Device(name, path, owner, keep_bound=keep_bound)
        super().__init__(self._device, serializer.dumps, loads_of(serializer))
        self._batches = Batches()
        self._locks = LockTable(self._device)
        self._filler: Filler[V] = Filler(self._device, serializer)
        self._requests: dict[asyncio.AbstractEventLoop, Requests] = {}

    # The descriptor

    def __enter__(self) -> "Belt[V]":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __eq__(self, other: object) -> bool:
        """Whether both are one object: a belt is no value, as a dict is."""
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<hashbelt.Belt {self.name!r}>"

    def __reduce__(self) -> Any:
        """A belt is pickled and copied as its name and settings, and opened anew from these."""
        name, path, owner, _, _, keep_bound = self._device.settings()
        return _open_again, (type(self), name, self.serializer, path, owner, keep_bound)

    def fileno(self) -> int:
        """The descriptor of the device, for poll(2). The belt closes it."""
        return self._device.fd()

    def close(self) -> None:
        """Close the descriptor, when each call of another thread has returned.

        What is bound to it ends then.
        """
        self._device.close()
        for loop, requests in list(self._requests.items()):
            if requests.pid == os.getpid() and not loop.is_closed():
                loop.call_soon_threadsafe(requests.close)
        self._requests = {}

    # One key: Keys has get(), set() and others

    def entry(self, key: Key) -> Entry[V] | None:
        """The value of a key with its version and the time that it has left, or None."""
        found = read_entry(self._device, key)
        if found is None:
            return None
        data, version, left = found
        return Entry(self.serializer.loads(data), version,
                     None if left == _abi.TTL_NEVER else left / 1000)

    def replace(self, key: Key, value: V, ttl: Seconds | Ttl = BELT) -> bool:
        """Store a value if there is an entry. Returns whether it was stored. Raises Full."""
        data = self.serializer.dumps(value)
        err, _ = put_bytes(self._device, key, data, ttl_ms(ttl), _abi.IF_PRESENT)
        if err not in (0, -errno.ENOENT):
            raise self._device.error(err, _abi.CALL_PUT)
        return not err

    def touch_bound(self, ttl: Seconds | Ttl = BELT) -> int:
        """Give all entries that were stored with bound one time-to-live, and return their number.

        One call keeps them all; without it they are gone together. Those that have gone stay so.
        Raises Missing if none is left.
        """
        item = _abi.Item()
        self._device.call(_abi.CALL_TOUCH_BOUND, library.touch_bound, ttl_ms(ttl),
                          ctypes.byref(item))
        return int(item.version)

    def expire(self, key: Key) -> bool:
        """Let an entry expire now, as at its deadline. Returns whether there was one."""
        return not call_key(self._device, library.expire, _abi.CALL_EXPIRE, key)

    def decr(self, key: Key, by: int = 1, *, initial: int = 0, ttl: Seconds | Ttl = BELT,
             minimum: int | None = None, if_present: bool = False) -> int:
        """Subtract from a number, as incr() adds. Without minimum, the sum may be less than 0."""
        return self.incr(key, -by, initial=initial, ttl=ttl, minimum=minimum,
                         if_present=if_present)

    @overload
    def pop(self, key: Key) -> V: ...

    @overload
    def pop(self, key: Key, default: V | D) -> V | D: ...

    def pop(self, key: Key, default: Any = NONE) -> Any:
        """Remove an entry and return its value, which one of several callers gets.

        Without a default, raises Missing if there is no entry.
        """
        while True:
            found = read_entry(self._device, key)
            if found is None:
                if default is not NONE:
                    return default
                raise self._device.error(-errno.ENOENT, _abi.CALL_GET)
            try:
                if self.delete(key, version=found[1]):
                    return self.serializer.loads(found[0])
            except Changed:
                pass

    def popitem(self) -> tuple[bytes, V]:
        """Remove some entry and return its key and value. Raises Missing if there is none."""
        for key in self:
            try:
                return key, self.pop(key)
            except Missing:
                pass
        raise self._device.error(-errno.ENOENT, _abi.CALL_GET)

    def setdefault(self, key: Key, default: V = None) -> V:  # type: ignore[assignment]
        """Store the default if there is no entry, and return the value that the belt has then."""
        while True:
            found = read_entry(self._device, key)
            if found is not None:
                return self.serializer.loads(found[0])
            if self.add(key, default):
                return default

    # Many keys

    def set_many(self, values: Mapping[Key, V], ttl: Seconds | Ttl = BELT) -> None:
        """Store values. Tries all; then raises the first error, whose notes name its key."""
        data = [self.serializer.dumps(value) for value in values.values()]
        keys, time = list(values), ttl_ms(ttl)
        failed: Error | None = None
        batch = self._batches.take(_abi.OP_PUT)
        for part, written in zip(pieces(keys), pieces(data)):
            batch.set_keys(part)
            joined = b"".join(written)
            batch.set_values(written, joined, time)
            batch.run(self._device, len(part))
            for key, err in zip(part, batch.results(len(part))):
                if err and failed is None:
                    failed = self._device.error(err, _abi.CALL_PUT)
                    failed.add_note(f"the key is {key!r}")
        self._batches.give(_abi.OP_PUT, batch)
        if failed is not None:
            raise failed

    def delete_many(self, keys: Iterable[Key]) -> int:
        """Remove entries. Returns the number of those that there were."""
        removed = 0
        batch = self._batches.take(_abi.OP_REMOVE)
        for part in pieces(list(keys)):
            batch.set_keys(part)
            batch.run(self._device, len(part))
            for err in batch.results(len(part)):
                if err not in (0, -errno.ENOENT):
                    raise self._device.error(err, _abi.CALL_REMOVE)
                removed += not err
        self._batches.give(_abi.OP_REMOVE, batch)
        return removed

    def update(self, other: Any = (), /, **more: V) -> None:
        """Store the values of a mapping or of pairs, as set_many() does."""
        self.set_many(dict(other, **more))

    def __iter__(self) -> Iterator[bytes]:
        """The keys. Those that are present from the beginning to the end come once.

        In a child of fork(), an iteration that the parent has begun raises RuntimeError,
        and after close() it raises ValueError.
        """
        handle = self._device.handle()
        scanner = ctypes.c_void_p()
        err = library.scan_begin(handle, ctypes.byref(scanner))
        if err:
            raise self._device.error(err, _abi.CALL_SCAN)
        try:
            keys = self._scan(handle, scanner)
            while keys:
                yield from keys
                keys = self._scan(handle, scanner)
        finally:
            library.scan_end(scanner)

    def _scan(self, handle: Handle, scanner: ctypes.c_void_p) -> list[bytes]:
        """The next keys of a scan. There are none at the end."""
        if self._device.handle() is not handle:
            raise RuntimeError("the process has forked during the iteration: begin it again")
        keys: list[bytes] = []
        record = ctypes.c_void_p()
        with handle:
            while len(keys) < _SCANNED:
                more = library.scan_next(scanner, ctypes.byref(record))
                if more == -errno.EINTR:
                    continue
                if more < 0:
                    raise self._device.error(more, _abi.CALL_SCAN)
                if not more:
                    break
                place = record.value or 0
                length = _abi.Record.from_address(place).key_len
                keys.append(ctypes.string_at(place + ctypes.sizeof(_abi.Record), length))
        return keys

    def __len__(self) -> int:
        """The number of entries. An expired one counts until the worker has freed it."""
        return self.info().entries

    def __bool__(self) -> bool:
        """True, as of a file, also if the belt is empty."""
        return True

    # The belt as a whole

    def clear(self) -> None:
        """Remove all entries, locks and requests, and end all fill leases."""
        self._device.call(_abi.CALL_CLEAR, library.clear)

    def info(self) -> _abi.Info:
        """The description of the belt: struct hashbelt_info of hashbelt(4). Units are in names."""
        info = _abi.Info()
        self._device.call(_abi.CALL_INFO, library.info, ctypes.byref(info))
        return info

    def stat(self) -> dict[str, int]:
        """The counters of the belt since it was made, by the names that "hbctl stat" has."""
        counters = (ctypes.c_uint64 * len(_abi.COUNTERS))()
        count = ctypes.c_uint(len(counters))
        self._device.call(_abi.CALL_STAT, library.stat, counters, ctypes.byref(count))
        return {name: counters[i] for i, (name, _) in enumerate(_abi.COUNTERS[:count.value])}

    def configure(self, **settings: Setting) -> None:
        """Change settings of the belt, as "hbctl set" does. Entries keep their deadlines.

        settings are those of create(). Raises NotAllowed, Error, TypeError, ValueError.
        """
        changed = _settings(settings)
        for name in settings:
            changed.fields |= getattr(_abi, f"SET_{name.upper()}")
        self._device.call(_abi.CALL_SET, library.set, ctypes.byref(changed))

    def halt(self) -> None:
        """Stop belt time, for tests. Needs the right to change the belt, as the next ones do."""
        self._device.call(_abi.CALL_HALT, library.halt)

    def resume(self) -> None:
        """Let belt time go on."""
        self._device.call(_abi.CALL_RESUME, library.resume)

    def rotate(self) -> None:
        """Move belt time on to the next rotation."""
        self._device.call(_abi.CALL_ROTATE, library.rotate)

    def advance(self, time: float | timedelta) -> None:
        """Move belt time on, by seconds or a timedelta, rounded up to milliseconds."""
        self._device.call(_abi.CALL_ADVANCE, library.advance,
                          milliseconds(time, "the time to advance"))

    # Locks, events, requests, filling

    def lock(self, name: Key, ttl: Seconds | Ttl = BELT, timeout: Seconds = None, *,
             renew: bool = False, owner: Key | None = None) -> Lock:
        """A lock, for "with" or as a decorator: see hashbelt.Lock."""
        return Lock(self._locks, _checked(name), ttl, timeout, renew, owner)

    def events(self, *, ack: bool = False) -> Events[V]:
        """The events of the belt, for "for" and "async for": see hashbelt.Events."""
        return Events(self._device, self.serializer, ack)

    def wait_for(self, *keys: Key, ttl: Seconds | Ttl = None) -> "asyncio.Future[Completion]":
        """A future that is done when one of 1 to 16 keys is put, or completed by complete().

        After ttl seconds it is done as well: see hashbelt.Completion. To cancel the future cancels
        the request. Call it while an event loop runs; no thread waits. Raises Full, NotAllowed.
        """
        loop = asyncio.get_running_loop()
        requests = self._requests.get(loop)
        if requests is None or requests.pid != os.getpid():
            requests = self._requests[loop] = Requests(self._device, loop)
            # One step at a time: threads with loops of their own do the same.
            for other in list(self._requests):
                if other.is_closed():
                    self._requests.pop(other, None)
        return requests.wait_for([encode_key(key) for key in keys], ttl_ms(ttl))

    def complete(self, key: Key) -> int:
        """Complete the requests that wait for a key, as a put does. Returns their number."""
        count = ctypes.c_uint()
        call_key(self._device, library.complete, _abi.CALL_COMPLETE, key, ctypes.byref(count))
        return count.value

    def _get_or_set(self, key: Key, compute: Callable[[], V], ttl: Seconds | Ttl = BELT, *,
                    stale: float = 0, ahead: float = 0, lease: float = 30,
                    timeout: Seconds = None) -> V:
        """The value of a key, for get_or_set() of Keys."""
        found: Any = self._found(key, least_ms(ttl, stale, ahead, lease, timeout), NONE)
        if found is not NONE:
            return found  # type: ignore[no-any-return]
        return self._compute(key, compute, ttl, stale, ahead, lease, timeout)

    def _compute(self, key: Key, compute: Callable[[], V], ttl: Seconds | Ttl = BELT,
                 stale: float = 0, ahead: float = 0, lease: float = 30,
                 timeout: Seconds = None) -> V:
        """The same, after a get that has found nothing."""
        return self._filler.get(_checked(key), compute, ttl, stale, ahead, lease, timeout)

    async def aget_or_set(self, key: Key, compute: Callable[[], Awaitable[V]],
                          ttl: Seconds | Ttl = BELT, *, stale: float = 0, ahead: float = 0,
                          lease: float = 30, timeout: Seconds = None) -> V:
        """get_or_set(), where compute returns an awaitable. The event loop runs meanwhile."""
        return await self._filler.get_async(_checked(key), compute, ttl, stale, ahead, lease,
                                            timeout)

    def cached(self, ttl: Seconds | Ttl = BELT, *, key: Callable[..., Key] | None = None,
               name: str | None = None, stale: float = 0, ahead: float = 0, lease: float = 30,
               timeout: Seconds = None) -> Callable[[Callable[P, R]], Cached[P, R]]:
        """A decorator that caches a function, or an async function, as get_or_set() does.

        key has the arguments of the function and returns the key. Without it, the key is made of a
        name and the arguments, which have to be str, bytes, numbers, bool, None or tuples of these:
        else a call raises TypeError. The name is name, or the function's own with its module and
        the file of that. Functions with one name share entries. So a lambda, a function in a
        function or in __main__, an object and its method, whose names others have, too, need
        name or key: else this raises TypeError. The decorated function has a method invalidate()
        with the same arguments, by position or by name, with or without those that have defaults.
        """
        def decorate(function: Callable[P, R]) -> Cached[P, R]:
            return Cached(self._filler, function, key, (ttl, stale, ahead, lease, timeout), name)
        return decorate


def _open_again(kind: Any, name: str, serializer: Any, path: str, owner: int | None,
                keep_bound: bool) -> Any:
    """Open a belt that was pickled or copied. Raises NoDevice, NoBelt, NotAllowed."""
    return kind(name, serializer, path=path, owner=owner, keep_bound=keep_bound)


@overload
def open_belt(name: str = ..., *, owner: int | None = ..., path: str = ...,
              keep_bound: bool = ...) -> Belt[bytes]: ...


@overload
def open_belt(name: str = ..., serializer: Serializer[V] = ..., *, owner: int | None = ...,
              path: str = ..., keep_bound: bool = ...) -> Belt[V]: ...


def open_belt(name: str = _abi.DEFAULT_BELT, serializer: Any = None, *, owner: int | None = None,
              path: str = _abi.DEVICE, keep_bound: bool = False) -> Any:
    """Open a belt.

    name is the belt's; serializer is hashbelt.JSON(), hashbelt.Pickle() or an object with the same
    two methods, and without it values are bytes; owner is the uid that the belt must have; path is
    that of the device. With keep_bound, calls reach the next belt of the name after this one was
    destroyed, and raise NoBelt only as long as there is none; what names a version of this one
    raises Changed. Raises NoDevice, NoBelt, NotAllowed, TooLarge.
    """
    return Belt(name, Bytes() if serializer is None else serializer, path=path, owner=owner,
                keep_bound=keep_bound)


def _members() -> Iterator[tuple[str, str, int]]:
    """The name of each setting, without the suffix of its unit, its member, and its maximum."""
    kind: Any
    for member, kind, *_ in _abi.Settings._fields_:
        for name in (member, member.removesuffix("_ms"), member.removesuffix("_bytes")):
            if hasattr(_abi, f"SET_{name.upper()}"):
                yield name, member, 2 ** (8 * ctypes.sizeof(kind)) - 1
                break


_SETTINGS: Final = {name: (member, most) for name, member, most in _members()}


def _settings(settings: dict[str, Setting]) -> _abi.Settings:
    """The structure of settings. A time has no suffix _ms here, and is in seconds."""
    found = _abi.Settings()
    for name, value in settings.items():
        member, most = _SETTINGS.get(name, ("", 0))
        if member.endswith("_ms"):
            if value is None or value == 0 or value == timedelta():
                number = 0
            else:
                number = milliseconds(value, name)
        elif member and isinstance(value, int) and not isinstance(value, bool):
            number = value
        else:
            known = ", ".join(sorted(_SETTINGS))
            raise TypeError(f"{name}={value!r} is not a setting of a belt: there are {known}")
        if not 0 <= number <= most:
            raise ValueError(f"{name} is from 0 to {most}: {value}")
        setattr(found, member, number)
    return found


def create(name: str, *, path: str = _abi.DEVICE, **settings: Setting) -> None:
    """Create a belt, as "hbctl create" does.

    settings are members of struct hashbelt_settings (hashbelt(4)): ttl and grace, in seconds or
    timedeltas; window, the bytes of its slots, a power of two; buckets, policy, mode, handler,
    reasons, gid, consumers, max_entries, max_bytes, max_events. Their constants are in
    hashbelt.abi: policy=abi.PINNED | abi.EVICT, handler=abi.NOTIFY,
    reasons=abi.REPORT(abi.EXPIRED). Without mode it is 0o600; 0, and None for a time, is the
    default. Raises Exists, Full, NotAllowed, NoDevice, TooLarge, TypeError,
    ValueError.
    """
    made = _settings({"mode": 0o600, **settings})
    if "gid" in settings:
        made.fields = _abi.SET_GID
    with closing(open_handle(path)) as handle:
        err = library.create(handle, encode_name(name, _abi.CALL_CREATE), ctypes.byref(made))
        if err:
            raise make_error(err, _abi.CALL_CREATE, name, handle)


def destroy(name: str, *, path: str = _abi.DEVICE) -> None:
    """Destroy a belt with all that it has. Raises NoBelt, NotAllowed, NoDevice, TooLarge."""
    with closing(open_handle(path)) as handle:
        err = library.destroy(handle, encode_name(name, _abi.CALL_DESTROY))
        if err:
            raise make_error(err, _abi.CALL_DESTROY, name, handle)


__all__ = ["Belt", "Entry", "Exists", "Key", "Missing", "TooLarge", "create", "destroy",
           "open_belt"]
