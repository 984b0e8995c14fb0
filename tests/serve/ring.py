# SPDX-License-Identifier: GPL-2.0-only
"""Used by the tests of rings: five hbserve on belts of their own, nutcracker in front of them, and the
server to which a key belongs by the ring of ketama.

Each server listens on a unix socket and on a port of 127.0.0.1.
"""

import bisect
import os
import signal
import socket
import struct
import subprocess
from hashlib import md5

from serve import DIRECTORY, Connection, Server, at_last

SIZE = 5
POINTS = 160        # of a server on the ring of ketama
os.environ['PATH'] += ':/usr/sbin'


def free_ports(count):
    """That many ports of 127.0.0.1 that are free now."""
    sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def ketama(names):
    """The function that maps a key to the index of its server, by the names of the servers."""
    points = sorted((point, i) for i, name in enumerate(names) for j in range(POINTS // 4)
                    for point in struct.unpack('<4I', md5(f'{name}-{j}'.encode()).digest()))

    def server_of(key):
        point = struct.unpack_from('<I', md5(key.encode()).digest())[0]
        return points[bisect.bisect_left(points, (point,)) % len(points)][1]

    def shares():
        """The part of all hashes that belongs to each server."""
        lengths = [0] * len(names)
        for before, (point, i) in zip([points[-1][0] - (1 << 32)] + [p for p, _ in points], points):
            lengths[i] += point - before
        return [length / (1 << 32) for length in lengths]

    server_of.shares = shares
    return server_of


class Gateway(Server):
    """hbserve on the belt of one place of the ring."""

    def __init__(self, place, port, *addresses):
        self.place, self.port, self.belt = place, port, f'ring{place}'
        super().__init__('-l', ','.join([f'127.0.0.1:{port}', *addresses]), belt=self.belt)
        self.accepts(('127.0.0.1', port))

    def restart(self):
        """Start it again on the same socket, port and belt."""
        path = self.path
        self.__init__(self.place, self.port)
        os.rename(self.path, path)
        self.path = path

    def holds(self, keys):
        """Those of the keys that it has."""
        client = self.connect()
        held = set()
        for at in range(0, len(keys), 100):
            client.send('get ' + ' '.join(keys[at:at + 100]) + '\r\n')
            held.update(line.split()[1] for line in client.until(b'END\r\n').split('\r\n')
                        if line.startswith('VALUE '))
        client.close()
        return held


class Proxy:
    """nutcracker in front of SERVERS, lines of its configuration, at an address."""
    count = 0

    def __init__(self, address, servers, **settings):
        Proxy.count += 1
        self.address = address
        self.base = f'{DIRECTORY}/proxy{Proxy.count}'
        settings = {'hash': 'md5', 'distribution': 'ketama', 'auto_eject_hosts': 'false', 'timeout': 5000,
                    **settings}
        listen = address if isinstance(address, str) else f'{address[0]}:{address[1]}'
        with open(self.base + '.yml', 'w', encoding='ascii') as conf:
            print('ring:', f'listen: {listen}', *(f'{name}: {value}' for name, value in settings.items()),
                  'servers:', *(f' - {server}' for server in servers), sep='\n  ', file=conf)
        self.process = subprocess.Popen(['nutcracker', '-c', self.base + '.yml', '-o', self.base + '.log', '-p',
                                         self.base + '.pid', '-a', '127.0.0.1', '-s', str(free_ports(1)[0])])
        Server.running.add(self)
        if not at_last(self.accepts):
            raise RuntimeError('nutcracker does not accept connections')

    def accepts(self):
        try:
            self.connect().close()
        except OSError:
            return self.process.poll()
        return True

    def connect(self):
        return Connection(self.address)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        Server.running.discard(self)


def put_all(connection, values):
    """Set all keys. Returns the replies that are not STORED."""
    wrong = []
    items = list(values.items())
    for at in range(0, len(items), 200):
        part = items[at:at + 200]
        connection.send(''.join(f'set {key} 0 0 {len(value)}\r\n{value}\r\n' for key, value in part))
        for _ in part:
            reply = connection.until(b'\r\n')
            if reply != 'STORED\r\n':
                wrong.append(reply)
    return wrong


def get_all(connection, keys):
    """Get the keys, each by a request of its own. Returns values by key, None for a miss. The value of a
    key whose server did not answer begins with SERVER_ERROR."""
    found = {}
    for at in range(0, len(keys), 200):
        part = keys[at:at + 200]
        connection.send(''.join(f'get {key}\r\n' for key in part))
        for key in part:
            line = connection.until(b'\r\n')
            if line.startswith('VALUE'):
                found[key] = connection.until(b'\r\nEND\r\n').split('\r\n')[0]
            else:
                found[key] = None if line == 'END\r\n' else line
    return found
