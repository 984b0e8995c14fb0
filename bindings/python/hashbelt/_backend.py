# SPDX-License-Identifier: LGPL-2.1-or-later
"""The backend of frequent calls: the extension hashbelt._native, or ctypes.

The extension is used where it was built. HASHBELT_BACKEND in the environment, "native" or "ctypes",
demands one of the two.
"""

import importlib
import os
from typing import Any, Final

from . import _abi
from ._library import library  # what cannot be loaded is reported there

assert library


def _find() -> Any:
    """The extension, or None for ctypes. Raises ImportError if it is demanded and not there."""
    demanded = os.environ.get("HASHBELT_BACKEND", "")
    if demanded not in ("", "native", "ctypes"):
        raise ImportError(f"HASHBELT_BACKEND={demanded}: there are 'native' and 'ctypes'",
                          name="hashbelt")
    if demanded == "ctypes":
        return None
    try:
        found = importlib.import_module("._native", __package__)
        if found.VERSION != _abi.VERSION:
            raise ImportError(f"hashbelt._native has version {found.VERSION}, and the package "
                              f"{_abi.VERSION}: install the package again", name="hashbelt")
    except ImportError:
        if demanded:
            raise
        return None
    return found


native: Final = _find()


# No default was passed.
NONE: Final[Any] = object()


def backend() -> str:
    """The backend of frequent calls: "native" for the extension in C, or "ctypes"."""
    return "ctypes" if native is None else "native"
