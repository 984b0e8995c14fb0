#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""ring_commands.t - nutcracker in front of five hbserve: the commands that it passes on, the connections
that it closes, and the servers on which it puts keys."""

import os
import subprocess

from ring import SIZE, Gateway, Proxy, free_ports, ketama, put_all
from serve import DIRECTORY, Server, equal, finish, make_belt, true

subprocess.run(['ifconfig', 'lo', '127.0.0.1', 'up'], check=True)
for place in range(SIZE):
    make_belt(f'ring{place}', '--ttl', '5m')
ports = free_ports(SIZE + 1)
gateways = [Gateway(place, ports[place]) for place in range(SIZE)]
names = [f'gateway{place}' for place in range(SIZE)]
by_unix = Proxy(f'{DIRECTORY}/proxy', [f'{one.path}:1 {name}' for one, name in zip(gateways, names)])
by_tcp = Proxy(('127.0.0.1', ports[SIZE]), [f'127.0.0.1:{one.port}:1 {name}' for one, name in zip(gateways, names)])

CLOSED = '(closed)'
# Each row: a request, and its reply. The rows build on each other.
TABLE = (
    ('set k 7 0 1\r\nv', 'STORED'),
    ('get k', 'VALUE k 7 1\r\nv\r\nEND'),
    ('get none', 'END'),
    ('add k 0 0 1\r\nw', 'NOT_STORED'),
    ('replace k 0 100 1\r\nw', 'STORED'),
    ('append k 0 0 1\r\n>', 'STORED'),
    ('prepend k 0 0 1\r\n<', 'STORED'),
    ('get k', 'VALUE k 0 3\r\n<w>\r\nEND'),
    ('cas k 0 0 1 1\r\nv', 'EXISTS'),
    ('set n 0 0 1\r\n5', 'STORED'),
    ('incr n 2', '7'),
    ('decr n 1', '6'),
    ('incr none 1', 'NOT_FOUND'),
    ('incr k 1', 'CLIENT_ERROR cannot increment or decrement non-numeric value'),
    ('touch n 100', 'TOUCHED'),
    ('touch n -1', 'TOUCHED'),
    ('delete n', 'NOT_FOUND'),
    ('delete k', 'DELETED'),
    ('set k 0 0 1 noreply\r\nv\r\nget k', 'VALUE k 0 1\r\nv\r\nEND'),
    ('delete k noreply\r\nget k', 'END'),
    ('get ' + 'k' * 250, 'END'),
    ('version', 'VERSION 1.6.45'),
    ('set k 0 -1 1\r\nv', CLOSED),
    ('delete k 0', CLOSED),
    ('get ' + 'k' * 251, CLOSED),
    ('gat 100 k', CLOSED),
    ('gats 100 k', CLOSED),
    ('mg k v', CLOSED),
    ('ms k 1\r\nv', CLOSED),
    ('md k', CLOSED),
    ('ma k', CLOSED),
    ('me k', CLOSED),
    ('mn', CLOSED),
    ('flush_all', CLOSED),
    ('stats', CLOSED),
    ('verbosity 1', CLOSED),
    ('cache_memlimit 1', CLOSED),
    ('lru_crawler enable', CLOSED),
    ('shutdown', CLOSED),
    ('quit', CLOSED),
    ('nonsense', CLOSED),
)


def hold(proxy, how):
    """One check for each row. The reply to a get behind the request shows that no more is answered."""
    client = proxy.connect()
    put_all(client, {'end': '.'})
    for request, reply in TABLE:
        client.send(request + '\r\n')
        line = request.split('\r')[0]
        if reply == CLOSED:
            equal(f'{how}: {line:.40} closes the connection', '', client.all())
            client = proxy.connect()
            continue
        client.send('get end\r\n')
        equal(f'{how}: {line:.40}: {reply.split(chr(13))[0]:.40}',
              f'{reply}\r\nVALUE end 0 1\r\n.\r\nEND\r\n', client.until(b'.\r\nEND\r\n'))
    client.send('set k 0 0 1\r\na\r\ngets k\r\n')
    version = client.until(b'END\r\n').split()[5]
    client.send(f'cas k 0 0 1 {version}\r\nb\r\ncas k 0 0 1 {version}\r\nc\r\nget k\r\n')
    equal(f'{how}: cas with the version of gets stores once', 'STORED\r\nEXISTS\r\nVALUE k 0 1\r\nb\r\nEND\r\n',
          client.until(b'END\r\n'))
    client.send('delete k\r\n')
    client.until(b'\r\n')
    client.close()


hold(by_unix, 'unix sockets')
hold(by_tcp, 'TCP')

# Many keys
KEYS = [f'key:{i}' for i in range(10000)]
server_of = ketama(names)
for one in gateways:
    make_belt(one.belt, '--ttl', '5m')
client = by_tcp.connect()
equal('10,000 sets through nutcracker are stored', [], put_all(client, {key: key for key in KEYS}))
held = [one.holds(KEYS) for one in gateways]
equal('each key is in the belt of its server on the ring, and in no other',
      [], [key for key in KEYS if [key in keys for keys in held] !=
           [place == server_of(key) for place in range(SIZE)]])
# The share of a server with 160 of 800 points has a standard deviation of sqrt(0.2 * 0.8 / 801), and
# 10,000 keys add a variance of 0.2 * 0.8 / 10000: 0.0147 in all, of which 0.0735 is five times.
counts = [len(keys) for keys in held]
print(f'# keys of each server: {counts}')
true('each server has 0.2 of the keys, and at most 0.0735 more or less',
     all(abs(count / len(KEYS) - 0.2) < 0.0735 for count in counts), counts)
square = sum((count - len(KEYS) * share) ** 2 / (len(KEYS) * share)
             for count, share in zip(counts, server_of.shares()))
print(f'# chi-square against the arcs of the ring: {square:.2f}')
true('the keys follow the arcs of the ring: chi-square below 33.4, which one of a million sets exceeds',
     square < 33.4, square)
many = KEYS[:500]
client = by_unix.connect()
client.send('get ' + ' '.join(many) + '\r\n')
reply = client.until(b'END\r\n')
equal('a get of 500 keys of five servers returns each value once',
      sorted(f'VALUE {key} 0 {len(key)}\r\n{key}\r\n' for key in many),
      sorted(f'VALUE{part}' for part in reply.removesuffix('END\r\n').split('VALUE')[1:]))

# A password
with open(f'{DIRECTORY}/users', 'w', encoding='ascii') as users:
    os.chmod(users.name, 0o600)
    users.write('alice:secret\n')
closed = Server('--auth-file', f'{DIRECTORY}/users', belt='ring0')
to_closed = Proxy(f'{DIRECTORY}/to_closed', [f'{closed.path}:1 closed'])
client = to_closed.connect()
client.send('get k\r\n')
equal('nutcracker names no user to a server with --auth-file', 'CLIENT_ERROR unauthenticated\r\n',
      client.until(b'\r\n'))
closed.stop('passwords')
for proxy in (by_unix, by_tcp, to_closed):
    proxy.stop()
for one in gateways:
    one.stop(names[one.place])
finish()
