# SPDX-License-Identifier: LGPL-2.1-or-later
"""Handles of libhashbelt that are bound to a belt, and the memory of calls on one key."""

import ctypes
import errno
import fcntl
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from . import _abi
from ._backend import native
from ._library import COUNTS_REFERENCES, library
from .errors import Error, make_error

# Room for the value of a get, bytes. A larger value costs a second call.
ROOM: Final = 65536

_devices: "Final[weakref.WeakSet[Device]]" = weakref.WeakSet()


def new_buffer(size: int) -> Any:
    """Memory of so many bytes. A slice of it is bytes."""
    return ctypes.create_string_buffer(size)


def address(data: bytes) -> int:
    """The address of bytes, valid as long as the caller keeps them."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


class Handle:
    """A struct hashbelt. It is closed when no object and no call refers to it any more.

    It is no object of ctypes, which would be copied with its address. "with" stands around each use
    of it: see CountedHandle.
    """

    __slots__ = ("_as_parameter_",)

    def __init__(self) -> None:
        """A handle that is not open: hashbelt_open() writes its address to where pointer() is."""
        self._as_parameter_ = ctypes.c_void_p()

    def pointer(self) -> Any:
        """A pointer to the address."""
        return ctypes.byref(self._as_parameter_)

    def address(self) -> int:
        """The address, or 0 after close()."""
        return self._as_parameter_.value or 0

    def close(self, _close: Callable[[Any], None] = library.close) -> None:
        """Close it at once: no other thread may be in a call with it."""
        value, self._as_parameter_.value = self._as_parameter_.value, None
        _close(value)

    def leave(self) -> None:
        """Called when its owner drops it: close it at the end of the last call."""

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def __reduce__(self) -> Any:
        raise TypeError("a descriptor of a belt is not copied or pickled: copy the belt, which is "
                        "opened anew")

    def __del__(self) -> None:
        self.close()


class CountedHandle(Handle):
    """A handle for a Python that does not count references: it counts its calls."""

    __slots__ = ("_lock", "_calls", "_is_left")

    def __init__(self) -> None:
        """A handle that is not open."""
        super().__init__()
        # The lock is around the next two. A signal's handler may make a call, too.
        self._lock = threading.RLock()
        self._calls = 0
        self._is_left = False

    def __enter__(self) -> Handle:
        with self._lock:
            self._calls += 1
            if self._is_left:
                self.__exit__()
                raise ValueError("the belt is closed: open it again")
        return self

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            self._calls -= 1
            if self._is_left and not self._calls:
                self.close()

    def leave(self) -> None:
        """Called when its owner drops it: close it now, or at the end of the last call."""
        with self._lock:
            self._is_left = True
            if not self._calls:
                self.close()


class Space:
    """The memory of one call of get() or put(), and pointers to it.

    ctypes takes what byref() returns in less time than a c_void_p. got and sent are each a struct
    hashbelt_item for the results of a get, and for what a put takes and returns. value is room for
    the value of a get.
    """

    __slots__ = ("_owner", "handle", "got", "got_pointer", "sent", "sent_pointer", "value", "room")

    def __init__(self, handle: Handle) -> None:
        """Make memory for calls with this handle, which stays open as long as this object."""
        self._owner = handle
        self.handle: Any = handle
        if COUNTS_REFERENCES:
            self.handle = ctypes.byref(ctypes.c_char.from_address(handle.address()))
        self.got = _abi.Item()
        self.got_pointer = ctypes.byref(self.got)
        self.sent = _abi.Item()
        self.sent_pointer = ctypes.byref(self.sent)
        self.value = new_buffer(ROOM)
        self.room = ctypes.byref(self.value)


def encode_name(name: str, call: int) -> bytes:
    """The bytes of a belt's name. Raises TooLarge, or Error for a name that is not valid."""
    data = os.fsencode(name)
    if not data or b"\0" in data:
        raise make_error(-errno.EINVAL, call, name.replace("\0", "?"))
    return data


def open_handle(path: str) -> Handle:
    """Open the device. Raises NoDevice, NotAllowed, Error."""
    handle = Handle() if COUNTS_REFERENCES else CountedHandle()
    err = library.open(os.fsencode(path), handle.pointer())
    while err == -errno.EINTR:      # it waited, as the module is reloaded
        err = library.open(os.fsencode(path), handle.pointer())
    if err:
        raise make_error(err, _abi.CALL_OPEN, path)
    return handle


if TYPE_CHECKING or native is None:
    class DeviceBase:
        """Has the handle of a device."""

        __slots__ = ("_handle",)

        _handle: Handle | None
else:
    from ._native import DeviceBase


class Device(DeviceBase):
    """Opens a handle that is bound to a belt, and opens it again in a child of fork().

    Threads may share it. A child of fork() closes its copy of the descriptor at once, so that what
    is bound to the descriptor ends with the parent, and opens one of its own when it makes a call.
    close() does the same at the end of the last call: each call refers to its handle.
    """

    def __init__(self, name: str, path: str = _abi.DEVICE, owner: int | None = None,
                 flags: int = 0, watch: int = 0, keep_bound: bool = False) -> None:
        """Open the device, bind the handle to the belt, and set how it reads events.

        owner is the user that the belt must have, flags are those of fcntl(2) for its descriptor,
        and watch is of WATCH_*. keep_bound: calls reach the next belt of the name after this one
        was destroyed. Raises NoDevice, NoBelt, NotAllowed, Error.
        """
        self.name = name
        self.path = path
        self.owner = owner
        # Memory that no call uses now. Another list stands for another handle.
        self.spaces: list[Space] = []
        self._flags = flags
        self._watch = watch
        self._keep_bound = keep_bound
        self._handle = None
        self._closed = False
        self._lock = threading.Lock()
        self.handle()
        _devices.add(self)

    def _bind(self, handle: Handle) -> None:
        name = encode_name(self.name, _abi.CALL_BIND)
        if self._keep_bound:
            owner = None if self.owner is None else ctypes.byref(ctypes.c_uint32(self.owner))
            err = library.keep_bound(handle, name, owner, 0)
        elif self.owner is None:
            err = library.bind(handle, name)
        else:
            err = library.bind_owned(handle, name, self.owner)
        if err:
            raise make_error(err, _abi.CALL_BIND, self.name, handle)
        if self._watch:
            err = library.watch(handle, self._watch)
        else:
            # Gets look into the belt's window. Without one, or after an error, they are calls.
            library.window_map(handle)
        if err:
            raise make_error(err, _abi.CALL_WATCH, self.name, handle)
        if self._flags:
            fcntl.fcntl(library.fd(handle), fcntl.F_SETFL, self._flags)

    def handle(self) -> Handle:
        """The handle. Raises ValueError after close(), and after fork() what opening raises."""
        found = self._handle
        if found is not None:
            return found
        with self._lock:
            if self._closed:
                raise ValueError(f"belt '{self.name}' is closed: open it again")
            if self._handle is None:
                handle = open_handle(self.path)
                try:
                    self._bind(handle)
                except Error:
                    handle.leave()
                    raise
                self._handle = handle
            return self._handle

    def settings(self) -> tuple[str, str, int | None, int, int, bool]:
        """Its name, path, owner, flags and so on. Raises ValueError after close()."""
        if self._closed:
            raise ValueError(f"belt '{self.name}' is closed: open it again")
        return self.name, self.path, self.owner, self._flags, self._watch, self._keep_bound

    def __reduce__(self) -> Any:
        """It is pickled and copied as its settings: the copy has a descriptor of its own."""
        return Device, self.settings()

    def fd(self) -> int:
        """The descriptor of the handle. Raises as handle() does."""
        return int(library.fd(self.handle()))

    def new_space(self) -> Space:
        """Memory for a call: a signal's handler, and another thread, get their own."""
        return Space(self.handle())

    def close(self) -> None:
        """Close the descriptor when each call of another thread has returned."""
        with self._lock:
            self._closed = True
            handle, self._handle = self._handle, None
            self.spaces = []
        if handle is not None:
            handle.leave()

    def forked(self) -> None:
        """Called in a child: close the copy of the parent's descriptor.

        The parent's other threads may have been in calls; their references stay for ever.
        """
        self._lock = threading.Lock()
        handle, self._handle = self._handle, None
        self.spaces = []
        if handle is not None:
            handle.close()

    def error(self, err: int, call: int) -> Error:
        """The exception of the negative error number that a call with this handle has returned."""
        return make_error(err, call, self.name, self._handle)

    def call(self, call: int, function: Callable[..., int], *arguments: Any) -> None:
        """Call a function of the library, again after a signal. Raises its error."""
        err = self.attempt(function, *arguments)
        if err:
            raise self.error(err, call)

    def attempt(self, function: Callable[..., int], *arguments: Any) -> int:
        """Call a function of the library, again after a signal. Returns 0 or a negative error."""
        while True:
            err = function(self.handle(), *arguments)
            if err != -errno.EINTR:
                return err


def _after_fork() -> None:
    for device in list(_devices):
        device.forked()


os.register_at_fork(after_in_child=_after_fork)
