#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""proxy.t MEMCACHED - nutcracker, and memcached as a proxy, in front of five hbserve: the requests that they pass
on, and a server that is killed and started again. The servers are hbserve-fake, whose entries are in its own memory.
"""

import os
import socket
import subprocess
import sys

from serve import DIRECTORY, Connection, Server, at_last, equal, finish, true

KEYS = [f'key:{i}' for i in range(1000)]
LOST = 2
# Each row: a request, and its reply, by both proxies. The rows build on each other.
PASSED = (
    ('set k 7 0 1\r\nv', 'STORED'),
    ('get k none', 'VALUE k 7 1\r\nv\r\nEND'),
    ('add k 0 0 1\r\nw', 'NOT_STORED'),
    ('replace k 0 100 1\r\nw', 'STORED'),
    ('append k 0 0 1\r\n>', 'STORED'),
    ('prepend k 0 0 1\r\n<', 'STORED'),
    ('get k', 'VALUE k 0 3\r\n<w>\r\nEND'),
    ('cas k 0 0 1 1\r\nv', 'EXISTS'),
    ('set n 0 0 1\r\n5', 'STORED'),
    ('incr n 2', '7'),
    ('decr n 1', '6'),
    ('touch n 100', 'TOUCHED'),
    ('delete n', 'DELETED'),
    ('delete n', 'NOT_FOUND'),
    ('set k 0 0 1 noreply\r\nv\r\nget k', 'VALUE k 0 1\r\nv\r\nEND'),
)
# Those that only memcached passes on; nutcracker closes the connection.
BY_MEMCACHED = (
    ('gat 100 k', 'VALUE k 0 1\r\nv\r\nEND'),
    ('mg k v t', 'VA 1 t100\r\nv'),
    ('md k', 'HD'),
    ('mg page N30 t', 'HD t30 W'),
    ('mg page N30 t', 'HD t30 Z'),
    ('ms page 4\r\nmade', 'HD'),
    ('ma n N100 J5 v', 'VA 1\r\n5'),
    ('set k 0 -1 1\r\nv', 'STORED'),
)


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as one:
        return one.getsockname()[1]


def start_server(port):
    server = Server('-l', f'127.0.0.1:{port}', program='hbserve-fake')
    server.accepts(('127.0.0.1', port))
    return server


def connect(address):
    try:
        return Connection(address)
    except OSError:
        return None


def ask_all(client, keys, request):
    """The first lines of the replies, by keys, to a request for each of them."""
    client.send(''.join(request.replace('KEY', key) for key in keys))
    found = {}
    for key in keys:
        found[key] = client.until(b'\r\n').removesuffix('\r\n')
        if found[key].startswith('VALUE'):
            client.until(b'END\r\n')
    return found


def get_all(client):
    return ask_all(client, KEYS, 'get KEY\r\n')


def refused(found):
    return {key for key, line in found.items() if line.startswith('SERVER_ERROR')}


def holds(server):
    """The keys that a server has."""
    return {key for key, line in get_all(server.connect()).items() if line != 'END'}


def check(name, start, own):
    """Try a proxy. START starts it in front of ports, at a port."""
    ports = [free_port() for _ in range(5)]
    servers = [start_server(port) for port in ports]
    address = ('127.0.0.1', free_port())
    proxy = start(ports, address[1])
    client = at_last(lambda: connect(address))
    ask_all(client, ['end'], 'set KEY 0 0 1\r\n.\r\n')
    for request, reply in PASSED + own:
        client.send(request + '\r\nget end\r\n')
        equal(f'{name}: {request.split(chr(13))[0]}', f'{reply}\r\nVALUE end 0 1\r\n.\r\nEND\r\n',
              client.until(b'.\r\nEND\r\n'))
    if not own:
        for request, _ in BY_MEMCACHED:
            client.send(request + '\r\n')
            equal(f'{name} closes the connection on {request.split(chr(13))[0]}', '', client.all())
            client = Connection(address)
    equal(f'{name}: {len(KEYS)} keys are stored', {'STORED'},
          set(ask_all(client, KEYS, 'set KEY 0 0 1\r\nv\r\n').values()))
    held = [holds(server) for server in servers]
    equal(f'{name}: each key is on one server', [], [key for key in KEYS if sum(key in keys for keys in held) != 1])
    true(f'{name}: each server has keys', all(held))
    servers[LOST].kill()
    equal(f'{name}: the keys of a killed server are errors, and no others', held[LOST], refused(get_all(client)))
    servers[LOST] = start_server(ports[LOST])
    found = at_last(lambda: next((found for found in [get_all(client)] if not refused(found)), None))
    equal(f'{name}: all other keys are there when it is back', {key for key in KEYS if key not in held[LOST]},
          {key for key, line in found.items() if line != 'END'})
    proxy.terminate()
    proxy.wait()
    for server in servers:
        server.stop(name)


def start_nutcracker(ports, port):
    with open(f'{DIRECTORY}/ring.yml', 'w', encoding='ascii') as conf:
        print('ring:', f'listen: 127.0.0.1:{port}', 'hash: md5', 'distribution: ketama', 'auto_eject_hosts: false',
              'server_retry_timeout: 1000', 'servers:', *(f' - 127.0.0.1:{one}:1 name{one}' for one in ports),
              sep='\n  ', file=conf)
    return subprocess.Popen(['nutcracker', '-c', f'{DIRECTORY}/ring.yml', '-o', f'{DIRECTORY}/ring.log', '-a',
                             '127.0.0.1', '-s', str(free_port())])


def start_memcached(ports, port):
    backends = ', '.join(f'"127.0.0.1:{one}"' for one in ports)
    with open(f'{DIRECTORY}/ring.lua', 'w', encoding='ascii') as conf:
        conf.write(f'pools{{ ring = {{ backends = {{ {backends} }} }} }}\n'
                   'routes{ default = route_direct{ child = "ring" } }\n')
    return subprocess.Popen([sys.argv[1], '-u', 'root', '-l', '127.0.0.1', '-p', str(port), '-o',
                             f'proxy_config=routelib,proxy_arg={DIRECTORY}/ring.lua'])


os.environ['PATH'] += ':/usr/sbin'
check('nutcracker', start_nutcracker, ())
check('memcached as a proxy', start_memcached, BY_MEMCACHED)
finish()
