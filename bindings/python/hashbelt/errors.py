# SPDX-License-Identifier: LGPL-2.1-or-later
"""The exceptions of this package. Each has the sentence of hashbelt_strerror(3)."""

import ctypes
import errno
import os
from typing import Any, Final

from . import _abi
from ._library import library


class Error(OSError):
    """A call of the device has failed. errno has the kernel's error, and strerror the sentence."""

    def __str__(self) -> str:
        return str(self.strerror)


class NoDevice(Error, FileNotFoundError):
    """There is no device, it is closed, or it has another interface than this package."""


class NoBelt(Error, FileNotFoundError):
    """There is no belt of that name, the caller has no right to it, or it was destroyed."""


class NotAllowed(Error, PermissionError):
    """The caller does not have the right that the call needs."""


class Missing(Error, KeyError):
    """There is no entry of that key."""


class Exists(Error, FileExistsError):
    """There is a belt of that name, or an entry of that key in a belt that keeps values."""


class Changed(Error):
    """The entry has another version than demanded, or the key's fill lease has ended."""


class Full(Error):
    """A limit of the belt, of its owner or of the module is reached."""


class TooLarge(Error, ValueError):
    """A key, a value, a name or an owner has too many bytes, or none."""


class NotNumber(Error, ValueError):
    """The entry is not a number in decimal."""


class SumTooLarge(Error, OverflowError):
    """The sum does not fit into 64 bits."""


class NoEvents(Error):
    """The belt reports nothing."""


class LockTimeout(Error, TimeoutError):
    """Another owner still has the lock."""


class LockLost(Error):
    """The owner does not have the lock: its lease has ended, or it never had the lock."""


class FillTimeout(Error, TimeoutError):
    """Another caller has the key's fill lease, and did not put a value in the time to wait."""


class FillFailed(Error):
    """Another caller has reported that the value cannot be computed."""


# Calls for which some errors have another meaning.
_LOCKING: Final = (_abi.CALL_LOCK, _abi.CALL_UNLOCK, _abi.CALL_RENEW, _abi.CALL_HOLDER,
                   _abi.CALL_RELEASE, _abi.CALL_LOCKS)
_FILLING: Final = (_abi.CALL_FILL, _abi.CALL_FILL_PUT, _abi.CALL_FILL_RENEW, _abi.CALL_FILL_FAIL,
                   _abi.CALL_GIVE_UP)
_NAMING: Final = (_abi.CALL_BIND, _abi.CALL_DESTROY)
_OPENING: Final = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM)

# The class of an error of any call.
_CLASSES: Final[dict[int, type[Error]]] = {
    errno.EIDRM: NoBelt,
    errno.EPERM: NotAllowed,
    errno.EACCES: NotAllowed,
    errno.EEXIST: Exists,
    errno.ESTALE: Changed,
    errno.ENOSPC: Full,
    errno.EDQUOT: Full,
    errno.E2BIG: TooLarge,
    errno.EMSGSIZE: TooLarge,
    errno.ENAMETOOLONG: TooLarge,
    errno.EBADMSG: NotNumber,
    errno.EOVERFLOW: SumTooLarge,
    errno.ENODATA: NoEvents,
}


def _class_of(err: int, call: int) -> type[Error]:
    """The class of an error of this call."""
    if call == _abi.CALL_OPEN and err not in _OPENING:
        return NoDevice
    if err == errno.ENOENT:
        if call in _LOCKING:
            return LockLost
        return NoBelt if call in _NAMING else Missing
    if err == errno.EACCES and call in (_abi.CALL_UNLOCK, _abi.CALL_RENEW):
        return LockLost
    if err in (errno.EBUSY, errno.ETIMEDOUT):
        return FillTimeout if call in _FILLING else LockTimeout
    return _CLASSES.get(err, Error)


def make_error(err: int, call: int, name: str = "", handle: Any = None) -> Error:
    """Make the exception of a failed call.

    err is the negative error number that a function of the library has returned, call is of
    CALL_*, name is the name of the belt or the path of the device, and handle is that of the call.
    """
    text = ctypes.create_string_buffer(_abi.ERROR_SIZE)
    library.strerror(handle, err, call, os.fsencode(name) or None, text, len(text))
    return _class_of(-err, call)(-err, os.fsdecode(text.value))
