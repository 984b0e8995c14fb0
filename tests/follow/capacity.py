#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""capacity.py [FOLLOWERS...] - print what followers of a Redis cost it.

Starts a redis-server, and for each number of followers (0 1 5 20 100) as many clients that track
keys by prefix, with two connections each, as hbfollow does. A writer then sets keys of that prefix:
one at a time, so that each key is a message of its own to each follower, and 16 at a time. A row
has the processor time of the server for one SET, in microseconds, and how many a second one
processor carries. Each follower has to be told of each key. Needs redis-server and python3-redis.
"""

import os
import selectors
import subprocess
import sys
import tempfile
import threading

import redis

SETS = 8000
PREFIX = "page:"
MARK = b"\n" + PREFIX.encode()


def connect(path):
    """A connection, and a function that returns the reply to a command."""
    connection = redis.UnixDomainSocketConnection(path=path)
    connection.connect()

    def ask(*words):
        connection.send_command(*words)
        return connection.read_response()

    return connection, ask


class Followers:
    """Clients that track keys, and a thread that reads what they are told."""

    def __init__(self, path, count):
        self._keys = [0] * count
        self._ends = [b""] * count
        self._told = threading.Condition()
        self._selector = selectors.DefaultSelector()
        self._connections = []
        for number in range(count):
            (listener, hear), (tracker, ask) = connect(path), connect(path)
            identifier = hear("CLIENT", "ID")
            hear("SUBSCRIBE", "__redis__:invalidate")
            ask("CLIENT", "TRACKING", "ON", "REDIRECT", identifier, "BCAST", "PREFIX", PREFIX)
            self._connections += [listener, tracker]
            self._selector.register(listener._sock, selectors.EVENT_READ, number)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while True:
            for key, _ in self._selector.select():
                received = key.fileobj.recv(1 << 20)
                if not received:
                    return
                data = self._ends[key.data] + received
                self._ends[key.data] = data[1 - len(MARK):]
                with self._told:
                    self._keys[key.data] += data.count(MARK)
                    self._told.notify()

    def wait(self, count):
        """Wait until each has been told of so many keys."""
        with self._told:
            if not self._told.wait_for(lambda: min(self._keys, default=count) >= count, 60):
                sys.exit(f"capacity.py: one was told of {min(self._keys)} of {count} keys")
            self._keys = [0] * len(self._keys)


def spent(process):
    """The processor time of the first thread of a process, in seconds."""
    with open(f"/proc/{process.pid}/task/{process.pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def measure(count):
    """Start a server, and print the rows of so many followers."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "socket")
        with subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                               "--dir", directory], stdout=subprocess.PIPE, text=True) as server:
            while "ready to accept connections" not in server.stdout.readline().lower():
                if server.poll() is not None:
                    sys.exit("capacity.py: redis-server has ended")
            followers = Followers(path, count)
            writer = redis.Redis(unix_socket_path=path)
            for together in (1, 16):
                before = spent(server)
                for first in range(0, SETS, together):
                    pipeline = writer.pipeline(transaction=False)
                    for number in range(first, first + together):
                        pipeline.set(f"{PREFIX}{number:08}", b"v" * 64)
                    pipeline.execute()
                followers.wait(SETS)
                cost = (spent(server) - before) / SETS
                print(f"{count:9} {together:8} {cost * 1e6:12.1f} {1 / cost:12.0f}", flush=True)
            server.terminate()


print("followers together  us for a SET  SETs a second")
for word in sys.argv[1:] or [0, 1, 5, 20, 100]:
    measure(int(word))
