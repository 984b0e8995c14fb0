#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""capacity.py [FOLLOWERS...] - print what followers of a Redis cost it.

Starts a redis-server, and for each number of followers (0 1 5 20 100) as many clients that track
keys by prefix, with two connections each, as hbfollow does. A writer then sets keys of that prefix:
one at a time, so that each key is a message of its own to each follower, and 16 at a time. A row
has the processor time of the server for one SET, in microseconds, and how many a second one
processor carries. Each follower has to be told of each key.
"""

import os
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

SETS = 8000
PREFIX = b"page:"
MARK = b"\n" + PREFIX


def command(*words):
    """A command in Redis's protocol."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(
        b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


class Client:
    """A connection."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")

    def ask(self, *words):
        """The first line of the reply."""
        self.socket.sendall(command(*words))
        return self.lines.readline()


class Followers:
    """Clients that track keys, and a thread that reads what they are told."""

    def __init__(self, path, count):
        self._keys = [0] * count
        self._ends = [b""] * count
        self._told = threading.Condition()
        self._selector = selectors.DefaultSelector()
        self._clients = []
        for number in range(count):
            listener, tracker = Client(path), Client(path)
            identifier = int(listener.ask("CLIENT", "ID")[1:])
            listener.ask("SUBSCRIBE", "__redis__:invalidate")
            said = tracker.ask("CLIENT", "TRACKING", "ON", "REDIRECT", identifier,
                               "BCAST", "PREFIX", PREFIX)
            if said != b"+OK\r\n":
                sys.exit(f"capacity.py: tracking: {said.decode().strip()}")
            self._clients += [listener, tracker]
            self._selector.register(listener.socket, selectors.EVENT_READ, number)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while self._selector.get_map():
            for key, _ in self._selector.select():
                data = key.fileobj.recv(1 << 20)
                if not data:
                    self._selector.unregister(key.fileobj)
                    continue
                data = self._ends[key.data] + data
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

    def close(self):
        """Close all connections."""
        for client in self._clients:
            client.socket.shutdown(socket.SHUT_RDWR)


def spent(process):
    """The processor time of the first thread of a process, in seconds."""
    with open(f"/proc/{process.pid}/task/{process.pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def write(writer, together):
    """Set keys, so many at a time."""
    for first in range(0, SETS, together):
        writer.socket.sendall(b"".join(command("SET", b"page:%08d" % number, b"v" * 64)
                                       for number in range(first, first + together)))
        for _ in range(together):
            writer.lines.readline()


def measure(server, path, count):
    """Print the rows of so many followers."""
    followers = Followers(path, count)
    writer = Client(path)
    for together in (1, 16):
        before = spent(server)
        write(writer, together)
        followers.wait(SETS)
        cost = (spent(server) - before) / SETS
        print(f"{count:9} {together:8} {cost * 1e6:12.1f} {1 / cost:12.0f}", flush=True)
    followers.close()
    writer.socket.close()


def main(counts):
    """Start the server, and print the table."""
    if not shutil.which("redis-server"):
        sys.exit("capacity.py: install redis-server")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "socket")
        with subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                               "--dir", directory], stdout=subprocess.PIPE, text=True) as server:
            try:
                while "ready to accept connections" not in server.stdout.readline().lower():
                    if server.poll() is not None:
                        sys.exit("capacity.py: redis-server has ended")
                print("followers together  us for a SET  SETs a second")
                for count in counts:
                    measure(server, path, count)
            finally:
                server.terminate()


main([int(word) for word in sys.argv[1:]] or [0, 1, 5, 20, 100])
