#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""load.py SOCKET CLIENTS OPERATIONS SEED - random requests of several clients at once to a server of memcached's
protocol on a unix socket, in pipelines. Each client has keys of its own, so it knows each byte of the replies. It sends
the same requests again and again: at their end there is no entry, as at their beginning."""

import random
import socket
import sys
import threading
import time

KEYS = 1000
LONGEST = 3000      # of the values, bytes
REQUESTS = 12800    # before they are sent again
PIPELINE = 64


class Requests:
    """Random requests of a client, and their replies."""

    def __init__(self, name, seed):
        self.name, self.random = name, random.Random(f'{seed} {name}')
        self.held, self.count = {}, 0
        self.pipelines = []
        made = [self.make_request() for _ in range(REQUESTS)]
        made += [self.delete(key) for key in list(self.held)] + [(f'delete n{name}\r\n', 'DELETED\r\n')]
        made[0] = (f'set n{name} 0 0 1\r\n0\r\n' + made[0][0], 'STORED\r\n' + made[0][1])
        for at in range(0, len(made), PIPELINE):
            sent, right = zip(*made[at:at + PIPELINE])
            self.pipelines.append((''.join(sent).encode(), ''.join(right).encode()))

    def value(self, key):
        return chr(ord('a') + key % 26) * self.held[key] + '\r\n'

    def shown(self, key):
        length = self.held.get(key)
        return '' if length is None else f'VALUE {self.name}:{key} {length} {length}\r\n{self.value(key)}'

    def store(self, key, line, reply):
        self.held[key] = self.random.randrange(100 if self.random.randrange(8) else LONGEST)
        return line.format(key=f'{self.name}:{key}', length=self.held[key]) + self.value(key), reply

    def delete(self, key):
        is_there = self.held.pop(key, None) is not None
        return f'delete {self.name}:{key}\r\n', 'DELETED\r\n' if is_there else 'NOT_FOUND\r\n'

    def make_request(self):
        """A request and its reply."""
        key, kind = self.random.randrange(KEYS), self.random.randrange(8)
        if kind == 0:
            return f'get {self.name}:{key}\r\n', self.shown(key) + 'END\r\n'
        if kind == 1:
            keys = range(key, key + 8)
            return 'get' + ''.join(f' {self.name}:{one}' for one in keys) + '\r\n', \
                ''.join(self.shown(one) for one in keys) + 'END\r\n'
        if kind == 2:
            return self.store(key, 'set {key} {length} 1000 {length}\r\n', 'STORED\r\n')
        if kind == 3:
            return self.store(key, 'ms {key} {length} F{length} T1000 q\r\n', '')
        if kind == 4:
            return self.delete(key)
        if kind == 5:
            return f'touch {self.name}:{key} 1000\r\n', 'TOUCHED\r\n' if key in self.held else 'NOT_FOUND\r\n'
        if kind == 6:
            return f'mg {self.name}:{key} v O{key}\r\n', \
                f'VA {self.held[key]} O{key}\r\n{self.value(key)}' if key in self.held else f'EN O{key}\r\n'
        self.count += 1
        return f'incr n{self.name} 1\r\n', f'{self.count}\r\n'


def run(number):
    """Send requests, and compare their replies."""
    pipelines = Requests(number, seed).pipelines
    client = socket.socket(socket.AF_UNIX)
    while client.connect_ex(path):      # a server that starts has bound its socket before it listens
        time.sleep(0.01)
    for _ in range(-(-operations // clients // REQUESTS)):
        for sent, right in pipelines:
            client.sendall(sent)
            found = client.recv(len(right), socket.MSG_WAITALL)
            if found != right:
                at = next((i for i, (a, b) in enumerate(zip(found, right)) if a != b), len(found))
                wrong.append(f'client {number}: expected {right[at:at + 80]}, found {found[at:at + 80]}')
                return


path = sys.argv[1]
clients, operations, seed = map(int, sys.argv[2:])
wrong = []
threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit('\n'.join(wrong) or None)
