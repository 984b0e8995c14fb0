# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times: what callers pass, and the milliseconds of the kernel."""

import enum
import math
from datetime import timedelta
from typing import Final

from . import _abi


class Ttl(enum.Enum):
    """Times-to-live beside a number of seconds and None."""

    BELT = "the belt's own"
    KEEP = "that of the present entry, or the belt's"


BELT: Final = Ttl.BELT
KEEP: Final = Ttl.KEEP

# A number of seconds, or None for never.
Seconds = float | timedelta | None


def milliseconds(value: float | timedelta, what: str = "a time-to-live") -> int:
    """Round a time up to milliseconds.

    value is in seconds, or a timedelta. Raises ValueError unless it is more than 0 and at most 139
    years, and TypeError if it is no number.
    """
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} is a number of seconds, a timedelta or None, "
                        f"not {type(value).__name__}")
    if not 0 < value <= _abi.TTL_MAX_MS / 1000:
        raise ValueError(f"{what} is more than 0 and at most 2^42 ms, some 139 years: {value} s")
    return math.ceil(round(value * 1000, 6))


def ttl_ms(ttl: Seconds | Ttl) -> int:
    """The time-to-live for the kernel. Raises as milliseconds() does."""
    if ttl is None:
        return _abi.TTL_NEVER
    if ttl is Ttl.BELT:
        return _abi.TTL_BELT
    if isinstance(ttl, Ttl):
        return _abi.TTL_KEEP
    return milliseconds(ttl)


def wait_ms(timeout: Seconds) -> int:
    """The time to wait for the kernel: None is for ever, and 0 not at all."""
    if timeout is None:
        return _abi.TTL_NEVER
    if timeout == 0 or timeout == timedelta():
        return 0
    return milliseconds(timeout, "a time to wait")
