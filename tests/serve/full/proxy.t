#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""proxy.t MEMCACHED - memcached as a proxy in front of five hbserve: the requests that it passes on, and what
it answers while a server is away. The servers are hbserve-fake, whose entries are in its own memory.
"""

import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))

from ring import SIZE, Gateway, free_ports, get_all, put_all
from serve import DIRECTORY, Connection, at_last, equal, finish, true

os.symlink(shutil.which('hbserve-fake'), f'{DIRECTORY}/hbserve')
os.environ['PATH'] = f'{DIRECTORY}:' + os.environ['PATH']
KEYS = [f'key:{i}' for i in range(10000)]
LOST = 2
ports = free_ports(SIZE + 1)
gateways = [Gateway(place, ports[place]) for place in range(SIZE)]
address = ('127.0.0.1', ports[SIZE])
with open(f'{DIRECTORY}/ring.lua', 'w', encoding='ascii') as conf:
    backends = ', '.join(f'"127.0.0.1:{one.port}"' for one in gateways)
    conf.write(f'pools{{ ring = {{ backends = {{ {backends} }} }} }}\n'
               'routes{ default = route_direct{ child = "ring" } }\n')
proxy = subprocess.Popen([sys.argv[1], '-u', 'root', '-l', '127.0.0.1', '-p', str(address[1]), '-o',
                          f'proxy_config=routelib,proxy_arg={DIRECTORY}/ring.lua'])


def connect():
    try:
        return Connection(address)
    except OSError:
        return None


client = at_last(connect)
# Each row: a request, and its reply. The rows build on each other.
for request, reply in (
        ('set k 7 0 1\r\nv', 'STORED'),
        ('get k none', 'VALUE k 7 1\r\nv\r\nEND'),
        ('add k 0 0 1\r\nw', 'NOT_STORED'),
        ('replace k 0 0 1\r\nw', 'STORED'),
        ('append k 0 0 1\r\n>', 'STORED'),
        ('prepend k 0 0 1\r\n<', 'STORED'),
        ('cas k 0 0 1 1\r\nv', 'EXISTS'),
        ('gat 100 k', 'VALUE k 0 3\r\n<w>\r\nEND'),
        ('touch k 100', 'TOUCHED'),
        ('mg k v t', 'VA 3 t100\r\n<w>'),
        ('md k', 'HD'),
        ('set n 0 0 1\r\n5', 'STORED'),
        ('incr n 2', '7'),
        ('decr n 1', '6'),
        ('ma n D3 v', 'VA 1\r\n9'),
        ('delete n', 'DELETED'),
        ('ms k 1 T60\r\nv', 'HD'),
        ('set k 0 0 1 noreply\r\nw\r\nget k', 'VALUE k 0 1\r\nw\r\nEND'),
        ('set k 0 -1 1\r\nv', 'STORED'),
        ('get k', 'END'),
        ('mg page N30 t', 'HD t30 W'),
        ('mg page N30 t', 'HD t30 Z'),
        ('ms page 4\r\nmade', 'HD'),
        ('delete none 0', 'NOT_FOUND'),
        ('get ' + 'k' * 251, 'CLIENT_ERROR bad command line format'),
        ('flush_all', 'CLIENT_ERROR parsing request'),
        ('verbosity 1', 'CLIENT_ERROR parsing request'),
):
    client.send(request + '\r\nmn\r\n')
    line = request.split('\r')[0]
    equal(f'memcached as a proxy: {line:.40}', f'{reply}\r\nMN\r\n', client.until(b'MN\r\n'))
client.send('delete none noreply\r\n')
true('memcached as a proxy refuses delete with noreply, also in front of memcached',
     client.until(b'\r\n').startswith('CLIENT_ERROR bad command line format'))
client.close()

client = connect()
equal('10,000 sets through the proxy are stored', [], put_all(client, {key: key for key in KEYS}))
held = [one.holds(KEYS) for one in gateways]
equal('each key is on one server', [], [key for key in KEYS if sum(key in keys for keys in held) != 1])
counts = [len(keys) for keys in held]
print(f'# keys of each server: {counts}')
# The servers have equal shares of all hashes: five times the root of 10000 * 0.2 * 0.8.
true('each server has 2000 keys, and at most 200 more or less', all(abs(count - 2000) <= 200 for count in counts),
     counts)
gateways[LOST].kill()
found = get_all(client, KEYS)
equal('the keys of a killed server are errors, and move to no other server', held[LOST],
      {key for key, value in found.items() if value != key})
true('these errors are SERVER_ERROR', all((found[key] or '').startswith('SERVER_ERROR') for key in held[LOST]))
gateways[LOST].restart()
found = at_last(lambda: next((found for found in [get_all(client, KEYS)]
                              if not any(str(value).startswith('SERVER_ERROR') for value in found.values())), None))
equal('all keys are served when it is back, with the entries that it has', [],
      [key for key in KEYS if found[key] != (None if key in held[LOST] else key)])
proxy.send_signal(signal.SIGTERM)
proxy.wait()
for one in gateways:
    one.stop(f'gateway{one.place}')
finish()
