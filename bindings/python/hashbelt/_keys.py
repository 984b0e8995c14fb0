# SPDX-License-Identifier: LGPL-2.1-or-later
"""The frequent calls on entries, by ctypes. hashbelt._native has the same methods in C."""

import ctypes
import errno
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

from . import _abi
from ._backend import NONE
from ._batch import Batch, Batches, Key, encode_key, pieces
from ._device import ROOM, Device, Space, new_buffer
from ._library import library, untyped
from ._one import call_key, key_error, put_bytes, read_entry
from ._time import BELT, Seconds, Ttl, ttl_ms
from .errors import Error
from .serializer import UNREADABLE

V = TypeVar("V")
D = TypeVar("D")

_get: Final = untyped("get")
_put: Final = untyped("put")
_KEY_MAX: Final = _abi.KEY_MAX
_NUMBER_MAX: Final = 2 ** 63 - 1


class Keys(Generic[V]):
    """The entries of a belt: see Belt.

    get() and set() are the most frequent calls: they have no other functions between them and the
    library, and use memory that is made once.
    """

    def __init__(self, device: Device, dumps: Any, loads: Any) -> None:
        """Use a device. dumps and loads are those of a serializer; without loads, of bytes."""
        self._device = device
        self._dumps = dumps
        self._loads = loads
        self._gets = Batches()

    if TYPE_CHECKING:
        def _get_or_set(self, key: Key, compute: Callable[[], V], ttl: Seconds | Ttl = BELT, *,
                        stale: float = 0, ahead: float = 0, lease: float = 30,
                        timeout: Seconds = None) -> V:
            """The value of a key: see Belt."""

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
            raise key_error(self._device, err, _abi.CALL_GET, key)
        return bytes(value[:space.got.value_len])

    def _found(self, key: Key, least_ms: int, default: Any) -> Any:
        """The value of a key that lives for some time, or the default."""
        try:
            if not least_ms:
                value = self.get(key, default)
            else:
                found = read_entry(self._device, key)
                if found is None or found[2] < least_ms:
                    return default
                value = found[0] if self._loads is None else self._loads(found[0])
        except Error:
            raise
        except Exception:   # pylint: disable=broad-except
            return default  # the bytes are no value
        return default if value is UNREADABLE else value

    def __getitem__(self, key: Key) -> V:
        value: Any = self.get(key, NONE)
        if value is NONE:
            raise self._device.error(-errno.ENOENT, _abi.CALL_GET)
        return value  # type: ignore[no-any-return]

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, (str, bytes)):
            return False
        item = _abi.Item(how=_abi.NO_VALUE | _abi.NO_REFRESH)
        return not call_key(self._device, library.get, _abi.CALL_GET, key, None, 0,
                            ctypes.byref(item))

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
            err, found = put_bytes(self._device, key, self._dumps(value), ttl_ms(ttl), how,
                                   version or 0)
            if err:
                raise self._device.error(err, _abi.CALL_PUT)
            return found
        if type(key) is str:
            name = key.encode()
        elif type(key) is bytes:
            name = key
        else:
            name = encode_key(key)
        data = self._dumps(value) if self._loads or type(value) is not bytes else value
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
            raise key_error(self._device, err, _abi.CALL_PUT, name)
        return found

    def __setitem__(self, key: Key, value: V) -> None:
        self.set(key, value)

    def add(self, key: Key, value: V, ttl: Seconds | Ttl = BELT, *, bound: bool = False) -> bool:
        """Store a value if there is no entry. Returns whether it was stored. Raises Full.

        bound is that of set().
        """
        how = _abi.IF_ABSENT | (_abi.BOUND if bound else 0)
        return not put_bytes(self._device, key, self._dumps(value), ttl_ms(ttl), how)[0]

    def touch(self, key: Key, ttl: Seconds | Ttl = BELT, *, version: int | None = None,
              add: bool = False, if_lasting: bool = False, if_expiring: bool = False,
              if_later: bool = False, if_sooner: bool = False) -> bool:
        """Give an entry another time-to-live. Returns whether it has it.

        With version, only if the entry has that version: else Changed is raised. Other conditions
        are that it never expires, that it does, and that its deadline gets later or earlier: if one
        does not hold, False is returned. With add, ttl is added to the time left. All that is one
        step, also for other processes. An entry that never expires has the latest deadline.
        """
        item = None
        if version is not None or add or if_lasting or if_expiring or if_later or if_sooner:
            how = 0 if version is None else _abi.IF_VERSION
            how |= _abi.FROM_DEADLINE if add else 0
            how |= _abi.IF_LASTING if if_lasting else 0
            how |= _abi.IF_EXPIRING if if_expiring else 0
            how |= _abi.IF_LATER if if_later else 0
            how |= _abi.IF_SOONER if if_sooner else 0
            item = ctypes.byref(_abi.Item(how=how, version=version or 0))
        err = call_key(self._device, library.touch, _abi.CALL_TOUCH, key, ttl_ms(ttl), item)
        if item is not None and err == -errno.ESTALE:
            raise self._device.error(err, _abi.CALL_TOUCH)
        return not err

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
        err = call_key(self._device, library.remove, _abi.CALL_REMOVE, key, item)
        if err == -errno.ESTALE:
            raise self._device.error(err, _abi.CALL_REMOVE)
        return not err

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
        err = call_key(self._device, library.add_item, _abi.CALL_ADD, key, ctypes.byref(found),
                       ctypes.byref(item))
        if err:
            raise self._device.error(err, _abi.CALL_ADD)
        return int(found.value)

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
        return self._get_or_set(key, compute, ttl, stale=stale, ahead=ahead, lease=lease,
                                timeout=timeout)

    def get_many(self, keys: Iterable[Key]) -> dict[Key, V]:
        """The values of those keys that have entries, by the keys as they were passed."""
        found: dict[Key, Any] = {}
        batch = self._gets.take(_abi.OP_GET)
        for part in pieces(keys if isinstance(keys, list) else list(keys)):
            batch.set_keys(part)
            batch.set_room()
            batch.run(self._device, len(part))
            values = batch.values(len(part))
            if values is None:
                self._take(batch, part, found)
            else:
                found.update(zip(part, values))
        self._gets.give(_abi.OP_GET, batch)
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
                large = read_entry(self._device, key)
                if large is not None:
                    found[key] = large[0]
            elif err != -errno.ENOENT:
                raise self._device.error(err, _abi.CALL_GET)
