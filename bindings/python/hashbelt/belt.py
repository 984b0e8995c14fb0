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
from ._batch import Batch, Key, encode_key, pieces
from ._device import ROOM, Device, Handle, Space, encode_name, new_buffer, open_handle
from ._library import library, untyped
from ._time import BELT, Seconds, Ttl, milliseconds, ttl_ms
from .errors import Changed, Error, Exists, Missing, TooLarge, make_error
from .events import Events
from .fill import Cached, Filler
from .lock import Lock, LockTable
from .request import Completion, Requests
from .serializer import Bytes, Serializer

V = TypeVar("V")
D = TypeVar("D")
P = ParamSpec("P")
R = TypeVar("R")

_get: Final = untyped("get")
_put: Final = untyped("put")
_KEY_MAX: Final = _abi.KEY_MAX
# Keys of a scan that are read at a time.
_SCANNED: Final = 256
# The value of a setting. A time is in seconds, and None is the default.
Setting = int | float | timedelta | None
# No default was passed.
_NONE: Final[Any] = object()
_NUMBER_MAX: Final = 2 ** 63 - 1


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


class Belt(MutableMapping[Key, V]):
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
        # None where values are bytes, which need no call.
        kind: Any = type(serializer)
        self._loads = None if kind is Bytes else serializer.loads
        # Memory that no batch uses now, by its operation.
        self._batches: dict[int, list[Batch]] = {}
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

    # One key. get() and set() are the most frequent calls: they have no other functions between
    # them and the library, and use memory that is made once.

    @overload
    def get(self, key: Key) -> V | None: ...

    @overload
    def get(self, key: Key, default: V | D) -> V | D: ...

    def get(self, key: Key, default: Any = None) -> Any:
        """The value of a key, or the default. Raises what the serializer raises."""
        if type(key) is str:
            data = key.encode()
        elif type(key) is bytes:
            data = key
        else:
            data = encode_key(key)
        length = len(data)
        if length > _KEY_MAX:
            raise self._device.error(-errno.E2BIG, _abi.CALL_GET)
        spaces = self._device.spaces
        try:
            space = spaces.pop()
        except IndexError:
            space = self._device.new_space()
        err = _get(space.handle, data, length, space.room, ROOM, space.got_pointer)
        if err:
            again = None if err == -errno.ENOENT else self._get_again(err, data, space)
            if again is None:
                spaces.append(space)
                return default
            value = again
        else:
            value = space.value[:space.got.value_len]
        spaces.append(space)
        return value if self._loads is None else self._loads(value)

    def _get_again(self, err: int, key: bytes, space: Space) -> bytes | None:
        """The bytes of a value after a get that has failed, or None if there is none."""
        room, size = space.room, ROOM
        value = space.value
        while err in (-errno.EINTR, -errno.ERANGE):
            if err == -errno.ERANGE:
                size = space.got.value_len
                value = new_buffer(size)
                room = ctypes.byref(value)
            err = _get(space.handle, key, len(key), room, size, space.got_pointer)
        if err == -errno.ENOENT:
            return None
        if err:
            raise self._error(err, _abi.CALL_GET, key)
        return bytes(value[:space.got.value_len])

    def _error(self, err: int, call: int, key: bytes) -> Error:
        """The exception of a call with a key. An empty one gets the sentence of a long one."""
        return self._device.error(err if key else -errno.E2BIG, call)

    def _call(self, function: Callable[..., int], call: int, key: Key, *arguments: Any) -> int:
        """Call a function with a key. Returns 0, or the error of a key; raises other errors."""
        data = encode_key(key)
        err = self._device.attempt(function, data, len(data), *arguments)
        if err in (0, -errno.ENOENT, -errno.EEXIST, -errno.ESTALE, -errno.ERANGE):
            return err
        raise self._error(err, call, data)

    def _read(self, key: Key) -> tuple[bytes, int, int] | None:
        """The bytes, version and time left in milliseconds of an entry; None if there is none."""
        item = _abi.Item()
        size = ROOM
        while True:
            buffer = new_buffer(size)
            err = self._call(library.get, _abi.CALL_GET, key, buffer, size, ctypes.byref(item))
            if err != -errno.ERANGE:
                break
            size = item.value_len
        return None if err else (buffer[:item.value_len], item.version, item.ttl_ms)

    def entry(self, key: Key) -> Entry[V] | None:
        """The value of a key with its version and the time that it has left, or None."""
        found = self._read(key)
        if found is None:
            return None
        data, version, left = found
        return Entry(self.serializer.loads(data), version,
                     None if left == _abi.TTL_NEVER else left / 1000)

    def __getitem__(self, key: Key) -> V:
        value: Any = self.get(key, _NONE)
        if value is _NONE:
            raise self._device.error(-errno.ENOENT, _abi.CALL_GET)
        return value  # type: ignore[no-any-return]

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, (str, bytes)):
            return False
        item = _abi.Item(how=_abi.NO_VALUE | _abi.NO_REFRESH)
        return not self._call(library.get, _abi.CALL_GET, key, None, 0, ctypes.byref(item))

    def set(self, key: Key, value: V, ttl: Seconds | Ttl = BELT, *,
            version: int | None = None, bound: bool = False) -> int:
        """Store a value, and return the version that the entry has then.

        With version, only if the entry has that version, which entry() returns: else Changed is
        raised. With bound, the entry goes when the belt is closed or the process ends, and
        touch_bound() renews it. Raises Full, Exists in a belt that keeps values, and what the
        serializer raises.
        """
        if version is not None or bound:
            how = (0 if version is None else _abi.IF_VERSION) | (_abi.BOUND if bound else 0)
            err, found = self._store(key, value, ttl, how, version or 0)
            if err:
                raise self._device.error(err, _abi.CALL_PUT)
            return found
        if type(key) is str:
            name = key.encode()
        elif type(key) is bytes:
            name = key
        else:
            name = encode_key(key)
        data = self.serializer.dumps(value) if self._loads or type(value) is not bytes else value
        size = len(data)
        length = len(name)
        if size > _abi.VALUE_MAX or length > _KEY_MAX:
            err = -errno.EMSGSIZE if size > _abi.VALUE_MAX else -errno.E2BIG
            raise self._device.error(err, _abi.CALL_PUT)
        time = 0 if ttl is BELT else ttl_ms(ttl)
        spaces = self._device.spaces
        try:
            space = spaces.pop()
        except IndexError:
            space = self._device.new_space()
        sent = space.sent
        sent.ttl_ms = time
        err = _put(space.handle, name, length, data, size, space.sent_pointer)
        while err == -errno.EINTR:
            err = _put(space.handle, name, length, data, size, space.sent_pointer)
        found = sent.version
        spaces.append(space)
        if err:
            raise self._error(err, _abi.CALL_PUT, name)
        return found

    def _store(self, key: Key, value: V, ttl: Seconds | Ttl, how: int, version: int = 0,
               ) -> tuple[int, int]:
        """Put a value on a condition. Returns 0 or the error of a key, and the version then."""
        data = self.serializer.dumps(value)
        item = _abi.Item(how=how, ttl_ms=ttl_ms(ttl), version=version)
        err = self._call(library.put, _abi.CALL_PUT, key, data, len(data), ctypes.byref(item))
        return err, item.version

    def __setitem__(self, key: Key, value: V) -> None:
        self.set(key, value)

    def add(self, key: Key, value: V, ttl: Seconds | Ttl = BELT, *, bound: bool = False) -> bool:
        """Store a value if there is no entry. Returns whether it was stored. Raises Full.

        bound is that of set().
        """
        return not self._store(key, value, ttl, _abi.IF_ABSENT | (_abi.BOUND if bound else 0))[0]

    def replace(self, key: Key, value: V, ttl: Seconds | Ttl = BELT) -> bool:
        """Store a value if there is an entry. Returns whether it was stored. Raises Full."""
        err, _ = self._store(key, value, ttl, _abi.IF_PRESENT)
        if err not in (0, -errno.ENOENT):
            raise self._device.error(err, _abi.CALL_PUT)
        return not err

    def touch(self, key: Key, ttl: Seconds | Ttl = BELT) -> bool:
        """Give an entry another time-to-live. Returns whether there is one."""
        return not self._call(library.touch, _abi.CALL_TOUCH, key, ttl_ms(ttl), None)

    def touch_bound(self, ttl: Seconds | Ttl = BELT) -> int:
        """Give all entries that were stored with bound one time-to-live, and return their number.

        One call keeps them all; without it they are gone together. Those that have gone stay so.
        Raises Missing if none is left.
        """
        item = _abi.Item()
        self._device.call(_abi.CALL_TOUCH_BOUND, library.touch_bound, ttl_ms(ttl),
                          ctypes.byref(item))
        return int(item.version)

    def delete(self, key: Key, *, version: int | None = None, stale: bool = False) -> bool:
        """Remove an entry, and end the fill lease of its key. Returns whether there was one.

        With version, only if the entry has that version: else Changed is raised. With stale, the
        value stays for the grace time of the belt, as one that has expired, for the callers that
        accept it: 'hbctl get --fill --stale', and mg with N of a client of hbserve. Raises Error if
        the belt has no grace time, or reinserts.
        """
        item = None
        if version is not None or stale:
            how = 0 if version is None else _abi.IF_VERSION
            how |= _abi.LEAVE_STALE if stale else 0
            item = ctypes.byref(_abi.Item(how=how, version=version or 0))
        err = self._call(library.remove, _abi.CALL_REMOVE, key, item)
        if err == -errno.ESTALE:
            raise self._device.error(err, _abi.CALL_REMOVE)
        return not err

    def expire(self, key: Key) -> bool:
        """Let an entry expire now, as at its deadline. Returns whether there was one."""
        return not self._call(library.expire, _abi.CALL_EXPIRE, key)

    def __delitem__(self, key: Key) -> None:
        if not self.delete(key):
            raise self._device.error(-errno.ENOENT, _abi.CALL_REMOVE)

    def incr(self, key: Key, by: int = 1, *, initial: int = 0, ttl: Seconds | Ttl = BELT,
             minimum: int | None = None, if_present: bool = False) -> int:
        """Add to a number in decimal, and return the sum.

        An absent entry counts as initial, and gets ttl; a present one keeps its deadline. A sum
        below minimum becomes minimum, and an absent entry counts as minimum at least. With
        if_present, an absent entry raises Missing. Raises NotNumber, also for a present number
        below minimum; SumTooLarge if the sum or a number needs more than 64 bits; and Full.
        """
        item = _abi.Item(how=_abi.IF_PRESENT if if_present else 0, ttl_ms=ttl_ms(ttl))
        if minimum is not None:
            item.how |= _abi.FLOOR
            item.version = minimum % 2 ** 64
            initial = max(initial, minimum)
        if not all(-_NUMBER_MAX <= number <= _NUMBER_MAX
                   for number in (by, initial, minimum or 0)):
            raise self._device.error(-errno.EOVERFLOW, _abi.CALL_ADD)
        found = _abi.Sum(by=by, value=initial)
        err = self._call(library.add_item, _abi.CALL_ADD, key, ctypes.byref(found),
                         ctypes.byref(item))
        if err:
            raise self._device.error(err, _abi.CALL_ADD)
        return int(found.value)

    def decr(self, key: Key, by: int = 1, *, initial: int = 0, ttl: Seconds | Ttl = BELT,
             minimum: int | None = None, if_present: bool = False) -> int:
        """Subtract from a number, as incr() adds. Without minimum, the sum may be less than 0."""
        return self.incr(key, -by, initial=initial, ttl=ttl, minimum=minimum,
                         if_present=if_present)

    @overload
    def pop(self, key: Key) -> V: ...

    @overload
    def pop(self, key: Key, default: V | D) -> V | D: ...

    def pop(self, key: Key, default: Any = _NONE) -> Any:
        """Remove an entry and return its value, which one of several callers gets.

        Without a default, raises Missing if there is no entry.
        """
        while True:
            found = self._read(key)
            if found is None:
                if default is not _NONE:
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
            found = self._read(key)
            if found is not None:
                return self.serializer.loads(found[0])
            if self.add(key, default):
                return default

    # Many keys

    def _batch(self, operation: int) -> Batch:
        """Memory for a batch: a signal's handler, and another thread, get their own."""
        try:
            return self._batches[operation].pop()
        except (KeyError, IndexError):
            return Batch(operation)

    def _finished(self, operation: int, batch: Batch) -> None:
        self._batches.setdefault(operation, []).append(batch)

    def get_many(self, keys: Iterable[Key]) -> dict[Key, V]:
        """The values of those keys that have entries, by the keys as they were passed."""
        found: dict[Key, Any] = {}
        batch = self._batch(_abi.OP_GET)
        for part in pieces(keys if isinstance(keys, list) else list(keys)):
            batch.set_keys(part)
            batch.set_room()
            batch.run(self._device, len(part))
            values = batch.values(len(part))
            if values is None:
                self._take(batch, part, found)
            else:
                found.update(zip(part, values))
        self._finished(_abi.OP_GET, batch)
        if self._loads is not None:
            for key, data in found.items():
                found[key] = self._loads(data)
        return found

    def _take(self, batch: Batch, keys: list[Key], found: dict[Key, bytes]) -> None:
        """Take the values of gets of which some have failed."""
        for index, (key, err) in enumerate(zip(keys, batch.results(len(keys)))):
            if not err:
                found[key] = batch.value_of(index)
            elif err == -errno.ERANGE:
                large = self._read(key)
                if large is not None:
                    found[key] = large[0]
            elif err != -errno.ENOENT:
                raise self._device.error(err, _abi.CALL_GET)

    def set_many(self, values: Mapping[Key, V], ttl: Seconds | Ttl = BELT) -> None:
        """Store values. Tries all; then raises the first error, whose notes name its key."""
        data = [self.serializer.dumps(value) for value in values.values()]
        keys, time = list(values), ttl_ms(ttl)
        failed: Error | None = None
        batch = self._batch(_abi.OP_PUT)
        for part, written in zip(pieces(keys), pieces(data)):
            batch.set_keys(part)
            joined = b"".join(written)
            batch.set_values(written, joined, time)
            batch.run(self._device, len(part))
            for key, err in zip(part, batch.results(len(part))):
                if err and failed is None:
                    failed = self._device.error(err, _abi.CALL_PUT)
                    failed.add_note(f"the key is {key!r}")
        self._finished(_abi.OP_PUT, batch)
        if failed is not None:
            raise failed

    def delete_many(self, keys: Iterable[Key]) -> int:
        """Remove entries. Returns the number of those that there were."""
        removed = 0
        batch = self._batch(_abi.OP_REMOVE)
        for part in pieces(list(keys)):
            batch.set_keys(part)
            batch.run(self._device, len(part))
            for err in batch.results(len(part)):
                if err not in (0, -errno.ENOENT):
                    raise self._device.error(err, _abi.CALL_REMOVE)
                removed += not err
        self._finished(_abi.OP_REMOVE, batch)
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
        self._call(library.complete, _abi.CALL_COMPLETE, key, ctypes.byref(count))
        return count.value

    def get_or_set(self, key: Key, compute: Callable[[], V], ttl: Seconds | Ttl = BELT, *,
                   stale: float = 0, ahead: float = 0, lease: float = 30,
                   timeout: Seconds = None) -> V:
        """The value of a key. If there is none, one process of the machine computes it.

        compute is called without arguments by the caller that gets the fill lease, of lease
        seconds; others wait, at most timeout seconds. Its exception is raised here, nothing is
        stored, and the next waiter computes. A value that was computed before delete(), clear() or
        set() is returned, and not stored after these. stale: the time in seconds beyond ttl in
        which the others take the old value while one caller computes. ahead: the time in seconds
        before the end of ttl from which one caller computes. Both need a ttl that ends. Raises
        FillTimeout, FillFailed, Full.
        """
        return self._filler.get(_checked(key), compute, ttl, stale, ahead, lease, timeout)

    async def aget_or_set(self, key: Key, compute: Callable[[], Awaitable[V]],
                          ttl: Seconds | Ttl = BELT, *, stale: float = 0, ahead: float = 0,
                          lease: float = 30, timeout: Seconds = None) -> V:
        """As get_or_set(), where compute returns an awaitable. The event loop runs meanwhile."""
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
