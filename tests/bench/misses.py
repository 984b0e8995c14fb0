#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""misses.py - play workloads on a belt, memcached and Redis.

    misses.py make FILE MEGABYTES REQUESTS WORKLOAD...
        write the traces of workloads to the file: an emulator would take minutes
    misses.py play FILE MEGABYTES PACE
        play them, in a guest

Each cache may use MEGABYTES. Each request is made on all of them in turn, and a get that misses is
followed by a put. A request comes every PACE microseconds, or later if this machine is slower: in
this time, lives pass for the servers. The time of the belt is moved on by hand, to that of the
trace.

About REQUESTS are played: those of every SAMPLE-th key of a trace that is SAMPLE times as long.
Scans and lives keep their proportion to the number of keys, as they do not in a shorter trace.
Servers cannot be given as little memory as some workloads need: all objects are made larger by the
same factor, until the memory is a fifth of the room that all of them take at a time.

Prints a row for each workload: the shares of gets that miss; the MiB that each cache counts, less
those of an empty one; the seconds that it took, and the percentage by which lives were shorter or
longer at times.
"""

import bisect
import itertools
import math
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
from typing import Callable, Iterator, NamedTuple

SAMPLE = 10
PORTION = 5             # the memory is one of so many parts of what all objects take
SETTLE = 200            # requests before the speed is known
OBJECT_BYTES = 64       # beside key and value: about the header of a belt's entry
VALUE_MAX = 1000 * 1024
MIB = 1 << 20
NEWEST = "/newest"      # servers with libraries of their own


class Request(NamedTuple):
    """A get, or a put, of a key; times in milliseconds."""
    time: int
    key: int
    ttl: int
    key_len: int
    value_len: int
    is_put: bool = False

    @property
    def size(self) -> int:
        """The bytes that the object takes."""
        return OBJECT_BYTES + self.key_len + self.value_len


# Traces

def mix(x: int) -> int:
    """The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection."""
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 % 2 ** 64
    x = (x ^ x >> 27) * 0x94d049bb133111eb % 2 ** 64
    return x ^ x >> 31


def units(state: int) -> Iterator[float]:
    """Random numbers from 0 up to 1, which is not reached."""
    while True:
        state = (state + 0x9e3779b97f4a7c15) % 2 ** 64
        yield (mix(state) >> 11) / 2 ** 53


def zipf(count: int, alpha: float, random: Iterator[float]) -> Iterator[int]:
    """Numbers from 0 on whose probabilities are as 1, 1/2^alpha, 1/3^alpha and so on."""
    sums = list(itertools.accumulate((i + 1) ** -alpha for i in range(count)))
    for unit in random:
        yield bisect.bisect_right(sums, unit * sums[-1], hi=count - 1)


def zipf_keys(alpha: float) -> Iterator[int]:
    """Popular keys, and less popular ones."""
    return zipf(100000, alpha, units(1))


def scan_keys() -> Iterator[int]:
    """After each 80000 requests of the hot set a scan of 20000 other keys."""
    hot, scanned = zipf(20000, 0.8, units(1)), itertools.count(20000)
    for i in itertools.count():
        yield next(scanned if i % 100000 >= 80000 else hot)


def shift_keys() -> Iterator[int]:
    """After every 25 requests the most popular key is another one."""
    return (i // 25 + key for i, key in enumerate(zipf(50000, 1.0, units(1))))


def plain(keys: Iterator[int], count: int, lives: int) -> Iterator[Request]:
    """Gets, 10 in a millisecond. All keys live for 10 s, or parts of them from 1 to 100 s."""
    for i, key in enumerate(itertools.islice(keys, count)):
        ttl = 10000 if lives == 1 else int(1000 * 100 ** (mix(key + 1) % lives / (lives - 1)))
        yield Request(i // 10, key, ttl, 16, 1000)


def spread(bits: int, mean: float, least: int, most: int) -> int:
    """A number of an exponential distribution, always the same for these bits."""
    return min(max(int(-math.log(1 - next(units(bits))) * mean + 0.5), least), most)


def cluster(count: int) -> Iterator[Request]:
    """Requests by the published means of the cluster 12 of Twitter's caches in March 2020.

    From https://github.com/twitter/cache-trace, stat/2020Mar.md (CC BY 4.0); described by Yang, Yue
    and Rashmi in "A Large Scale Analysis of Hundreds of In-memory Cache Clusters at Twitter" (OSDI
    2020). Means: 1.3 requests of a key, and 0.8143 of the keys have one; the exponent of the others
    is 0.3048. 0.8 of the requests put, the first of a key always. Six minutes: in a week a cache
    with unlimited room would miss more often than the cluster did.
    """
    frequency, sets, singles = 1.3, 0.80, 0.8143
    popular = int(count / frequency * (1 - singles) + 1)
    random, seen, new = units(1), set(), itertools.count(popular)
    keys = zipf(popular, 0.3048, random)
    first = 1 / frequency
    for i in range(count):
        key = next(new if next(random) < singles / frequency else keys)
        chance = max((sets - first) / (1 - first), 0) if key in seen else min(sets / first, 1)
        seen.add(key)
        next(random)        # of other clusters: whether it removes, and below whether it adds
        is_put = next(random) < chance
        if is_put:
            next(random)
        yield Request(int(i / count * 360 * 1000), key,
                      300000 if next(units(mix(3 * key + 1))) < 0.98 else 299000,
                      spread(mix(3 * key + 2), 44, 8, 250),
                      spread(mix(3 * key + 3), 1030, 1, 512 * 1024),
                      is_put)


WORKLOADS: dict[str, Callable[[int], Iterator[Request]]] = {
    "zipf-0.8": lambda n: plain(zipf_keys(0.8), n, 1),
    "zipf-1.0": lambda n: plain(zipf_keys(1.0), n, 1),
    "zipf-1.0-4": lambda n: plain(zipf_keys(1.0), n, 4),
    "zipf-1.2": lambda n: plain(zipf_keys(1.2), n, 1),
    "scan": lambda n: plain(scan_keys(), n, 1), "scan-4": lambda n: plain(scan_keys(), n, 4),
    "shift": lambda n: plain(shift_keys(), n, 1), "shift-4": lambda n: plain(shift_keys(), n, 4),
    "cluster-12": cluster,
}


def most_bytes(trace: list[Request]) -> int:
    """The most bytes that a cache without a limit holds at a time."""
    changes: list[list[int]] = []
    ends: dict[int, list[int]] = {}
    for request in trace:
        end = ends.get(request.key, [0, 0])
        if end[0] > request.time:
            if not request.is_put:
                continue
            end[0] = request.time
        ends[request.key] = [request.time + request.ttl, -request.size]
        changes += [request.time, request.size], ends[request.key]
    return max(itertools.accumulate(change[1] for change in sorted(changes)))


def make_trace(name: str, requests: int, memory: int) -> list[Request]:
    """The requests of the part of the keys that has nearly as many requests as are asked for."""
    parts: list[list[Request]] = [[] for _ in range(SAMPLE)]
    for request in WORKLOADS[name](requests * SAMPLE):
        parts[mix(request.key + 1) % SAMPLE].append(request)
    trace = min(parts, key=lambda part: abs(len(part) - requests))
    factor = -(memory * PORTION // -most_bytes(trace))
    return [request._replace(value_len=min(
        request.size * factor - OBJECT_BYTES - request.key_len, VALUE_MAX)) for request in trace]


# Caches

class Cache:
    """A cache. A kind has get(), put(), used(), the bytes as it counts them itself, and stop()."""

    def do(self, request: Request, key: bytes, value: bytes, ttl: int) -> bool:
        """Make a request; a put lives for ttl milliseconds. Return: it was a get that missed."""
        missed = not request.is_put and not self.get(key)
        if missed or request.is_put:
            self.put(key, value, ttl)
        return missed


class Belt(Cache):
    """A belt, whose time stands still and is moved on by hand."""
    name = "belt"

    def __init__(self, memory: int, longest: int):
        import hashbelt     # which the guest has
        self.hashbelt = hashbelt
        hashbelt.create(self.name, ttl=longest / 10000, buckets=500, policy=hashbelt.abi.EVICT,
                        max_bytes=memory)
        self.belt = hashbelt.open(self.name)
        self.belt.halt()
        self.time = 0

    def do(self, request: Request, key: bytes, value: bytes, ttl: int) -> bool:
        if request.time > self.time:
            self.belt.advance((request.time - self.time) / 1000)
            self.time = request.time
        return super().do(request, key, value, request.ttl)

    def get(self, key: bytes) -> bool:
        return self.belt.get(key) is not None

    def put(self, key: bytes, value: bytes, ttl: int) -> None:
        self.belt.set(key, value, ttl / 1000)

    def used(self) -> int:
        return self.belt.info().used_bytes

    def stop(self) -> None:
        self.belt.close()
        self.hashbelt.destroy(self.name)


class Server(Cache):
    """A server at work, on a unix socket."""

    def __init__(self, name: str, *arguments: str):
        self.name = name
        loader = [f"{NEWEST}/lib64/ld-linux-x86-64.so.2", "--library-path",
                  f"{NEWEST}/usr/lib/x86_64-linux-gnu"] if os.path.exists(NEWEST) else []
        program = (NEWEST if loader else "") + "/usr/bin/" + arguments[0]
        self.directory = tempfile.TemporaryDirectory()
        path = self.directory.name + "/socket"
        self.process = subprocess.Popen([*loader, program, *arguments[1:], path])
        connection = socket.socket(socket.AF_UNIX)
        while connection.connect_ex(path):
            if self.process.poll() is not None:
                sys.exit(f"{arguments[0]} has ended with status {self.process.returncode}")
            time.sleep(0.001)
        self.connection, self.replies = connection, connection.makefile("rb")

    def send(self, *parts: bytes) -> bytes:
        """Send a request. Return: the first line of the reply."""
        self.connection.sendall(b"".join(parts))
        return self.replies.readline().rstrip()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()


class Memcached(Server):
    """memcached, by its text protocol. It counts seconds: a part of one counts as a whole one."""

    def __init__(self, memory: int):
        super().__init__("memcached", "memcached", "-u", "root", "-t", "1",
                         "-m", str(memory // MIB), "-s")

    def get(self, key: bytes) -> bool:
        line = self.send(b"get ", key, b"\r\n")
        if line != b"END":
            self.replies.read(int(line.split()[-1]) + len("\r\nEND\r\n"))
        return line != b"END"

    def put(self, key: bytes, value: bytes, ttl: int) -> None:
        # Larger times would be absolute ones.
        life = min(-(ttl // -1000), 30 * 24 * 3600)
        self.send(b"set %s 0 %d %d\r\n" % (key, life, len(value)), value, b"\r\n")

    def used(self) -> int:
        found, line = 0, self.send(b"stats\r\n")
        while line != b"END":
            if line.startswith(b"STAT bytes "):
                found = int(line.split()[-1])
            line = self.replies.readline().rstrip()
        return found


class Redis(Server):
    """Redis, by its protocol RESP2. Its limit leaves out what an empty server takes."""

    def __init__(self, policy: str, memory: int):
        super().__init__(f"redis-{policy}", "redis-server", "--port", "0", "--save", "",
                         "--appendonly", "no", "--maxmemory-policy", f"allkeys-{policy}",
                         "--loglevel", "warning", "--logfile", "/tmp/redis.log", "--unixsocket")
        self.command(b"CONFIG", b"SET", b"maxmemory", b"%d" % (self.used() + memory))

    def command(self, *words: bytes) -> bytes | None:
        """Send a command. Return: its reply; None: nil."""
        line = self.send(b"*%d\r\n" % len(words),
                         *(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        if line.startswith(b"-"):
            sys.exit(f"{self.name}: {line!r}")
        if not line.startswith(b"$"):
            return line
        return None if line == b"$-1" else self.replies.read(int(line[1:]) + 2)

    def get(self, key: bytes) -> bool:
        return self.command(b"GET", key) is not None

    def put(self, key: bytes, value: bytes, ttl: int) -> None:
        self.command(b"SET", key, value, b"PX", b"%d" % max(ttl, 1))

    def used(self) -> int:
        lines = (self.command(b"INFO", b"memory") or b"").split(b"\r\n")
        return next(int(line.split(b":")[1]) for line in lines if line.startswith(b"used_memory:"))


def play(name: str, trace: list[Request], caches: list, pace: int) -> None:
    """Play a trace, and print its row.

    Its requests come at equal intervals or nearly so, but this machine may be slower than the pace,
    and now and then slower than usual: lives are stretched as the trace has been so far.
    """
    empty = [cache.used() for cache in caches]
    misses = [0] * len(caches)
    zeros = bytes(VALUE_MAX)
    begin = time.monotonic()
    wanted = pace * len(trace) / (trace[-1].time + 1) / 1e6     # seconds for a millisecond
    stretch, stretches = wanted, []
    for i, request in enumerate(trace):
        time.sleep(max(begin + request.time * wanted - time.monotonic(), 0))
        if i >= SETTLE and request.time:
            stretch = (time.monotonic() - begin) / request.time
        key = (b"%08x." % request.key).ljust(request.key_len, b".")[:request.key_len]
        for turn in range(len(caches)):
            number = (i + turn) % len(caches)
            misses[number] += caches[number].do(request, key, zeros[:request.value_len],
                                                int(request.ttl * stretch * 1000))
        # The first requests find empty caches.
        if i > len(trace) / 4:
            stretches.append(stretch)
    gets = sum(not request.is_put for request in trace)
    print("|", name, *(f"| {count / gets:.4f}" for count in misses),
          *(f"| {(cache.used() - before) / MIB:.2f}" for cache, before in zip(caches, empty)),
          f"| {time.monotonic() - begin:.0f}",
          f"| {100 * (max(stretches) / min(stretches) - 1):.0f} |", flush=True)


def make_traces(path: str, memory: int, requests: int, names: list[str]) -> None:
    """Write the traces of the workloads."""
    with open(path, "wb") as file:
        pickle.dump([(name, make_trace(name, requests, memory)) for name in names], file)


def play_traces(path: str, memory: int, pace: int) -> None:
    """Play each trace on caches that have nothing in memory yet."""
    names = [Belt.name, "memcached", "redis-lru", "redis-lfu"]
    print("|", " | ".join(["workload", *names, *(f"MiB {name}" for name in names), "s",
                           "lives, %"]), "|")
    print("|---|" + "---:|" * (2 * len(names) + 2), flush=True)
    with open(path, "rb") as file:
        traces = pickle.load(file)
    for name, trace in traces:
        caches = [Belt(memory, max(request.ttl for request in trace)), Memcached(memory),
                  Redis("lru", memory), Redis("lfu", memory)]
        play(name, trace, caches, pace)
        for cache in caches:
            cache.stop()


if sys.argv[1] == "make":
    make_traces(sys.argv[2], int(sys.argv[3]) * MIB, int(sys.argv[4]), sys.argv[5:])
else:
    play_traces(sys.argv[2], int(sys.argv[3]) * MIB, int(sys.argv[4]))
