# SPDX-License-Identifier: LGPL-2.1-or-later
"""The class Keys of the backend: that of hashbelt._native in C, or that of hashbelt._keys."""

from typing import TYPE_CHECKING

from ._backend import native
from ._batch import encode_key
from ._time import BELT, ttl_ms
from .serializer import UNREADABLE

if TYPE_CHECKING or native is None:
    from ._keys import Keys
else:
    from ._native import Keys
    native.use(BELT, ttl_ms, encode_key, UNREADABLE)

__all__ = ["Keys"]
