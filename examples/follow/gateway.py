#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""gateway.py SOCKET NAME - print a page: from hbserve, by memcached's meta commands, or from Redis.

    hbctl create pages --ttl 1h
    hbfollow -b pages 'redis://127.0.0.1/?prefix=page:' &
    hbserve -b pages -s /run/hashbelt/pages.sock &
    python3 gateway.py /run/hashbelt/pages.sock home

mg with N tells one client that it has won (W), and the others to wait (Z). The winner stores with the number
that it was given (c, C): hbserve refuses that if the page has changed meanwhile. REDIS is the URL of another
server.
"""

import os
import socket
import sys
import time

import redis


class Gateway:
    """A connection with hbserve."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.replies = self.socket.makefile("rb")

    def get(self, key, fetch, ttl=3600):
        """The value of a key: from the belt, or what fetch() returns, which is stored."""
        while True:
            self.socket.sendall(f"mg {key} v c N30\r\n".encode())
            kind, size, *flags = self.replies.readline().split()
            value = self.replies.read(int(size) + 2)[:-2]
            if b"W" in flags:
                token = next(flag[1:] for flag in flags if flag.startswith(b"c"))
                return self._store(key, fetch(), token.decode(), ttl)
            if b"Z" not in flags:
                return value
            time.sleep(0.01)

    def _store(self, key, value, token, ttl):
        """Store a value, unless it is late, and return it."""
        line = f"ms {key} {len(value)} C{token} T{ttl}\r\n".encode()
        self.socket.sendall(line + value + b"\r\n")
        reply = self.replies.readline()
        if not reply.startswith((b"HD", b"EX", b"NF")):
            raise OSError(reply.decode())
        return value


def main(path, name):
    origin = redis.Redis.from_url(os.environ.get("REDIS", "redis://127.0.0.1/"))
    key = f"page:{name}"
    print(Gateway(path).get(key, lambda: origin.get(key) or b"").decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
