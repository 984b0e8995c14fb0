#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""cost.py ENTRIES ROUNDS PEER [SOCKET] - print the cost of operations in Python, as lines of JSON.

PEER is hashbelt (the belt "default", and one with a window), pymemcache (a client of the memcached
on the SOCKET) or diskcache (a directory in /tmp, whose file system is memory). An operation is
measured in ROUNDS slices of calls, which alternate with slices of the floor: an ioctl that returns
at once, called through ctypes. A nanosecond of the guest is an instruction. figures.sh describes
the lines.
"""

import ctypes
import json
import os
import random
import sys
import time

VALUE = b"v" * 64
SLICE = 64
HASHBELT_IOC_ABI = 0xBE << 8


class Hashbelt:
    """A belt."""

    def __init__(self, _):
        import hashbelt
        self.hashbelt = hashbelt
        self.belt = hashbelt.open("default")
        self.get, self.set, self.get_many = self.belt.get, self.belt.set, self.belt.get_many

    def others(self):
        """Operations that the other peers do not have: name, function, keys."""
        hot = [f"hot:{number:012}" for number in range(4)] * (SLICE // 4)
        absent = [f"absent:{number:09}" for number in range(SLICE)]
        belt = self.belt
        for key in hot:
            belt.set(key, VALUE)
        self.hashbelt.create("window", window=65536)
        windowed = self.hashbelt.open("window")
        for key in hot * 64:
            if windowed.get(key) is None:
                windowed.set(key, VALUE)
        yield "get from window", windowed.get, hot
        yield "get of an absent key", belt.get, absent
        yield "in", belt.__contains__, hot
        yield "touch", belt.touch, hot
        yield "add, present", lambda key, add=belt.add: add(key, VALUE), hot
        yield "incr", belt.incr, ["number"] * SLICE
        yield "set, ttl=60", lambda key, put=belt.set: put(key, VALUE, ttl=60), hot
        yield "get_or_set hit", lambda key, get=belt.get_or_set: get(key, dict), hot
        yield "get_or_set hit, ttl", lambda key, get=belt.get_or_set: get(key, dict, 60), hot
        yield from self.cached(belt, "")
        yield from self.cached(windowed, ", from window")
        yield from self.django()

    def cached(self, belt, where):
        """Hits of cached functions."""
        @belt.cached(name="bytes")
        def octets(key):
            return VALUE[:40]

        values = self.hashbelt.open(belt.name, self.hashbelt.JSON())

        @values.cached(name="json")
        def report(day):
            return {"day": day, "rows": [1, 2, 3], "total": 17.5}

        keys = [f"user {number}" for number in range(4)] * (SLICE // 4)
        for key in keys * 64:
            octets(key)
            report(key)
        yield "cached, bytes" + where, octets, keys
        yield "cached, JSON" + where, report, keys

    def django(self):
        """The backend for Django, beside the one that keeps values in the process."""
        from django.conf import settings
        settings.configure(CACHES={
            "default": {"BACKEND": "hashbelt.django.BeltCache", "LOCATION": "default"},
            "local": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}})
        from django.core.cache import caches
        keys = [f"page:{number:011}" for number in range(4)] * (SLICE // 4)
        for name, where in ("default", "Django"), ("local", "LocMemCache"):
            cache = caches[name]
            for key in keys:
                cache.set(key, "value")
            cache.set("number", 1)
            yield f"{where} get", cache.get, keys
            yield f"{where} set", lambda key, put=cache.set: put(key, "value"), keys
            yield f"{where} incr", cache.incr, ["number"] * SLICE


class Pymemcache:
    """A server. A set waits for its reply."""

    def __init__(self, socket):
        from pymemcache.client.base import Client
        client = Client(socket, default_noreply=False)
        self.get, self.set, self.get_many = client.get, client.set, client.get_many


class Diskcache:
    """A database of SQLite. It has no call for many keys."""

    def __init__(self, _):
        from diskcache import Cache
        cache = Cache("/tmp/diskcache")
        self.get, self.set, self.get_many = cache.get, cache.set, None


def open_floor():
    """A function that returns the nanoseconds of a slice of the floor."""
    ioctl = ctypes.CDLL(None, use_errno=True).ioctl
    ioctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)
    device = os.open("/dev/hashbelt", os.O_RDWR | os.O_CLOEXEC)

    def spent():
        begin = time.perf_counter_ns()
        for _ in range(SLICE):
            ioctl(device, HASHBELT_IOC_ABI, None)
        return time.perf_counter_ns() - begin
    return spent


def time_get(get, keys):
    """The nanoseconds of a slice. Here, as in the two others, nothing but the loop is added."""
    begin = time.perf_counter_ns()
    for key in keys:
        get(key)
    return time.perf_counter_ns() - begin


def time_set(put, keys):
    """The nanoseconds of a slice."""
    begin = time.perf_counter_ns()
    for key in keys:
        put(key, VALUE)
    return time.perf_counter_ns() - begin


def time_batch(get_many, keys):
    """The nanoseconds of one call for all keys of a slice."""
    begin = time.perf_counter_ns()
    get_many(keys)
    return time.perf_counter_ns() - begin


class Figures:
    """The measurements of a peer."""

    def __init__(self, name, entries, rounds):
        self.head = {"figure": "cost", "peer": name, "entries": entries, "value_size": len(VALUE)}
        self.entries, self.rounds = entries, rounds
        self.floor = open_floor()
        self.random = random.Random(1)

    def keys(self):
        """Keys in an order that no cache can predict."""
        return [f"{self.random.randrange(self.entries):016x}" for _ in range(SLICE)]

    def measure(self, operation, spent, call, same=None):
        """Print what spent() says of the calls of a slice, divided by the number of its keys."""
        costs, floors = [], []
        for _ in range(self.rounds):
            keys = same or self.keys()
            floors.append(self.floor() / SLICE)
            costs.append(spent(call, keys) / SLICE)
        print(json.dumps({**self.head, "operation": operation,
                          "ratio": round(sum(costs) / sum(floors), 3), "unit": "instructions",
                          "cost": round(min(costs), 1), "floor": round(min(floors), 1)},
                         separators=(",", ":")), flush=True)


def main(entries, rounds, name, socket=None):
    """Fill the peer, check what it returns, and measure it."""
    peer = {"hashbelt": Hashbelt, "pymemcache": Pymemcache, "diskcache": Diskcache}[name](socket)
    figures = Figures(name, entries, rounds)
    for number in range(entries):
        peer.set(f"{number:016x}", VALUE)
    keys = figures.keys()
    if any(peer.get(key) != VALUE for key in keys):
        sys.exit(f"cost.py: {name}: a get has returned a wrong value")
    if peer.get_many and peer.get_many(keys) != dict.fromkeys(keys, VALUE):
        sys.exit(f"cost.py: {name}: get_many has returned wrong values")
    print("python:", sys.version, flush=True)
    figures.measure("get", time_get, peer.get)
    figures.measure("set", time_set, peer.set)
    if peer.get_many:
        figures.measure("get, 64 a call", time_batch, peer.get_many)
        figures.measure("get, 64 a call, same keys", time_batch, peer.get_many, keys)
    if name == "hashbelt":
        for operation, call, keys in peer.others():
            figures.measure(operation, time_get, call, keys)


main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
