# SPDX-License-Identifier: LGPL-2.1-or-later
"""The functions of libhashbelt.

ctypes releases the interpreter's lock during each call, and takes bytes where they lie.
"""

import ctypes
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any, Final

from ._abi import FUNCTIONS, VERSION

SONAME: Final = "libhashbelt.so.0"

# Whether an object ends with the last reference to it. That of PyPy ends at some later time.
COUNTS_REFERENCES: Final = sys.implementation.name == "cpython"


def _load() -> ctypes.CDLL:
    """Load the library, and tell ctypes the types of its functions. Raises ImportError."""
    try:
        found = ctypes.CDLL(SONAME)
    except OSError as error:
        raise ImportError(f"cannot load {SONAME}: install the package libhashbelt0 ({error})",
                          name="hashbelt") from None
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(found, f"hashbelt_{name}")
        except AttributeError:
            raise ImportError(f"{SONAME} has no function hashbelt_{name}: install the package "
                              f"libhashbelt0 of version {VERSION}", name="hashbelt") from None
        function.restype = result
        function.argtypes = arguments
    return found


_loaded: Final = _load()


def _held(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, so that its handle stays open during a call: references do that on CPython."""
    if COUNTS_REFERENCES:
        return function

    def call(first: Any, *arguments: Any) -> Any:
        if not isinstance(first, AbstractContextManager):
            return function(first, *arguments)
        with first:
            return function(first, *arguments)
    return call


# hashbelt_open() is library.open, and so on.
library: Final = SimpleNamespace(**{name: _held(getattr(_loaded, f"hashbelt_{name}"))
                                    for name in FUNCTIONS})


def untyped(name: str) -> Any:
    """A function whose arguments ctypes does not check: a call takes two thirds of the time.

    Each argument is an int of at most 31 bits, bytes, None, or an object of ctypes. The result is
    an int.
    """
    return _held(_loaded[f"hashbelt_{name}"])
