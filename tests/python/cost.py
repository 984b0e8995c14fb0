#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""cost.py [DEVICE] - print what operations of the package cost, beside a call that does nothing.

A row has the operation, nanoseconds for a key, and the ratio to "null ioctl": ioctl(2) by ctypes,
with the types of its arguments and errno, on a descriptor of /dev/null. Each figure is the least of
several rounds. Needs the module; with a DEVICE, a libhashbelt that takes it for one.
"""

import ctypes
import os
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "bindings", "python"))

import hashbelt  # noqa: E402

ROUNDS, CALLS, MANY = 15, 400, 64


def least(function):
    """The least time of a call, nanoseconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for _ in range(CALLS):
            function()
        best = min(best, (time.perf_counter_ns() - begin) / CALLS)
    return best


def null_ioctl():
    """A call of ioctl(2) that the kernel refuses at once."""
    libc = ctypes.CDLL(None, use_errno=True)
    ioctl = libc.ioctl
    ioctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)
    descriptor = os.open("/dev/null", os.O_RDWR)
    return lambda: ioctl(descriptor, 0xbe00, None)


def operations(belt):
    """Each operation: its name, a function, and its number of keys."""
    key, value = "session:0000000001", bytes(64)
    keys = [f"session:{number:010}" for number in range(MANY)]
    values = dict.fromkeys(keys, value)
    yield "null ioctl", null_ioctl(), 1
    yield "set", lambda: belt.set(key, value), 1
    yield "set with ttl=60", lambda: belt.set(key, value, 60), 1
    yield "get", lambda: belt.get(key), 1
    yield "[]", lambda: belt[key], 1
    yield "get of an absent key", lambda: belt.get("absent"), 1
    yield "incr", lambda: belt.incr("number"), 1
    yield f"set_many of {MANY}", lambda: belt.set_many(values), MANY
    yield f"get_many of {MANY}", lambda: belt.get_many(keys), MANY
    yield f"delete_many of {MANY}", lambda: belt.delete_many(keys), MANY


def main(path):
    """Print the table."""
    name = "python-cost"
    hashbelt.create(name, path=path)
    null = 0.0
    with hashbelt.open(name, path=path) as belt:
        for operation, function, count in operations(belt):
            figure = least(function) / count
            null = null or figure
            print(f"{operation:24}{figure:9.0f} ns{figure / null:7.2f}", flush=True)
    hashbelt.destroy(name, path=path)


main(*sys.argv[1:] or [hashbelt.abi.DEVICE])
