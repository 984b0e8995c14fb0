#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""cost.py [DEVICE] - print what operations of the package cost, beside a call that does nothing.

A row has the operation, nanoseconds for a key, and the ratio to "null ioctl": ioctl(2) by ctypes,
with the types of its arguments and errno, on a descriptor of /dev/null. Each figure is the least of
several rounds. "GET by ioctl" and "hashbelt_get" are the mere calls, whose arguments lie ready.
Needs the module; with a DEVICE, a libhashbelt that takes it for one.
"""

import ctypes
import os
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "bindings", "python"))

import hashbelt  # noqa: E402
from hashbelt._library import untyped  # noqa: E402

ioctl = ctypes.CDLL(None, use_errno=True).ioctl
ioctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)
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
    descriptor = os.open("/dev/null", os.O_RDWR)
    return lambda: ioctl(descriptor, 0xbe00, None)


def get_by_ioctl(belt, key, room):
    """HASHBELT_IOC_GET, without the making of its item."""
    descriptor = belt.fileno()
    item = hashbelt.abi.Item(key=ctypes.addressof(key), key_len=len(key) - 1,
                             value=ctypes.addressof(room), value_len=len(room))
    pointer = ctypes.byref(item)

    def call():
        ioctl(descriptor, 0xc040be01, pointer)

    call.keeps = key, room
    return call


def hashbelt_get(belt, key):
    """hashbelt_get() as the package calls it."""
    get, space = untyped("get"), belt._device.new_space()
    handle, room, item = space.handle, space.room, space.got_pointer
    return lambda: get(handle, key, len(key), room, 4096, item)


def operations(belt):
    """Each operation: its name, a function, and its number of keys."""
    key, value = "session:0000000001", bytes(64)
    keys = [f"session:{number:010}" for number in range(MANY)]
    values = dict.fromkeys(keys, value)
    yield "null ioctl", null_ioctl(), 1
    yield "set", lambda: belt.set(key, value), 1
    yield "GET by ioctl", get_by_ioctl(belt, ctypes.create_string_buffer(key.encode()),
                                       ctypes.create_string_buffer(4096)), 1
    yield "hashbelt_get", hashbelt_get(belt, key.encode()), 1
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
