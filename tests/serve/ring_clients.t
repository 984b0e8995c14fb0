#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""ring_clients.t - which clients choose the same one of five servers for each of 10,000 keys, and which of
them agree with nutcracker. The servers are hbserve-plain, whose entries are in its own memory.

It runs in a network namespace of its own, for the port 11211.
"""

import os
import shutil
import subprocess

import memcache
import pylibmc
from pymemcache.client.hash import HashClient

from ring import SIZE, Gateway, Proxy, free_ports, ketama, put_all
from serve import DIRECTORY, equal, finish, true

os.symlink(shutil.which('hbserve-plain'), f'{DIRECTORY}/hbserve')
os.environ['PATH'] = f'{DIRECTORY}:' + os.environ['PATH']
subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
KEYS = [f'key:{i}' for i in range(10000)]
ports = free_ports(SIZE + 1)
# Each server has the port 11211 of an address of its own.
hosts = [f'127.0.0.{place + 2}' for place in range(SIZE)]
gateways = [Gateway(place, ports[place], f'{host}:11211') for place, host in enumerate(hosts)]
by_port = [f'127.0.0.1:{one.port}' for one in gateways]
by_path = [one.path for one in gateways]


def placed(store):
    """Empty the servers and store the keys. Returns the servers of the keys, in the order of KEYS."""
    for one in gateways:
        client = one.connect()
        client.ask('flush_all')
        client.close()
    store()
    held = [one.holds(KEYS) for one in gateways]
    return [tuple(place for place in range(SIZE) if key in held[place]) for key in KEYS]


def on_ring(names):
    """The same by the ring of ketama, of servers with these names."""
    server_of = ketama(names)
    return [(server_of(key),) for key in KEYS]


def through_nutcracker(servers, **settings):
    def store():
        proxy = Proxy(('127.0.0.1', ports[SIZE]), servers, **settings)
        put_all(proxy.connect(), {key: '1' for key in KEYS})
        proxy.stop()
    return placed(store)


def through(client):
    def store():
        for key in KEYS:
            client.set(key, '1')
    return placed(store)


def through_pylibmc(servers, **behaviors):
    return through(pylibmc.Client(servers, behaviors=behaviors))


def through_pymemcache(servers):
    # Else it waits for no reply, and the last keys are looked for before they are stored.
    return through(HashClient(servers, default_noreply=False))


def through_memccp(*options):
    directory = f'{DIRECTORY}/files'
    os.makedirs(directory, exist_ok=True)
    for key in KEYS:
        with open(f'{directory}/{key}', 'w', encoding='ascii') as file:
            file.write('1')

    def store():
        for at in range(0, len(KEYS), 1000):
            subprocess.run(['memccp', '--servers=' + ','.join(hosts), *options, *KEYS[at:at + 1000]], cwd=directory,
                           check=True)
    return placed(store)


# Each row: a client, and the servers of the keys by it. Clients of one family agree on all keys.
FAMILIES = {
    'the ring of ketama, of servers named HOST:PORT': (
        ('the ring, as computed here', on_ring(by_port)),
        ('nutcracker, md5 and ketama', through_nutcracker([f'{name}:1' for name in by_port])),
        ('nutcracker over unix sockets, each with HOST:PORT for a name', through_nutcracker(
            [f'{path}:1 {name}' for path, name in zip(by_path, by_port)])),
        ('pylibmc, ketama_weighted', through_pylibmc(by_port, ketama_weighted=True)),
        ('pylibmc, ketama_weighted, the servers in another order', through_pylibmc(by_port[::-1],
                                                                                   ketama_weighted=True)),
    ),
    'the ring of ketama, of servers with the port 11211': (
        ('the ring, as computed here, of servers named HOST', on_ring(hosts)),
        ('nutcracker, md5 and ketama', through_nutcracker([f'{host}:11211:1' for host in hosts])),
        ('pylibmc, ketama_weighted', through_pylibmc([f'{host}:11211' for host in hosts], ketama_weighted=True)),
    ),
    'the ring of ketama, of unix sockets': (
        ('the ring, as computed here, of servers named PATH:0', on_ring([f'{path}:0' for path in by_path])),
        ('pylibmc, ketama_weighted', through_pylibmc(by_path, ketama_weighted=True)),
        ('nutcracker, each server with PATH:0 for a name', through_nutcracker(
            [f'{path}:1 {path}:0' for path in by_path])),
    ),
    'nutcracker without names for unix sockets': (
        ('nutcracker, md5 and ketama', through_nutcracker([f'{path}:1' for path in by_path])),
    ),
    'ketama of pylibmc': (
        ('pylibmc, ketama', through_pylibmc(by_port, ketama=True)),
        ('pylibmc, distribution consistent', through_pylibmc(by_port, distribution='consistent')),
    ),
    'ketama of pylibmc with md5': (
        ('pylibmc, ketama and md5', through_pylibmc(by_port, ketama=True, hash='md5')),
    ),
    'the remainder by the number of servers': (
        ('pylibmc without behaviors', through_pylibmc(by_port)),
        ('memccp', through_memccp()),
        ('nutcracker, one_at_a_time and modula, which sorts its servers by name', through_nutcracker(
            [f'{name}:1 {place}' for place, name in enumerate(by_port)], hash='one_at_a_time',
            distribution='modula')),
    ),
    'the remainder, by md5': (
        ('pylibmc, md5', through_pylibmc(by_port, hash='md5')),
        ('memccp --hash=md5', through_memccp('--hash=md5')),
        ('nutcracker, md5 and modula, which sorts its servers by name', through_nutcracker(
            [f'{name}:1 {place}' for place, name in enumerate(by_port)], distribution='modula')),
    ),
    'the remainder, by crc32': (
        ('python3-memcache', through(memcache.Client(by_port))),
        ('python3-memcache over unix sockets', through(memcache.Client([f'unix:{path}' for path in by_path]))),
    ),
    'rendezvous hashing': (
        ("pymemcache's HashClient", through_pymemcache(
            [('127.0.0.1', one.port) for one in gateways])),
        ("pymemcache's HashClient, the servers in another order", through_pymemcache(
            [('127.0.0.1', one.port) for one in gateways[::-1]])),
    ),
    'rendezvous hashing of unix sockets': (
        ("pymemcache's HashClient over unix sockets", through_pymemcache(by_path)),
    ),
}


def agreement(one, other):
    """The number of keys for which two clients choose the same server."""
    return sum(a == b for a, b in zip(one, other))


first = []
for family, rows in FAMILIES.items():
    for client, places in rows:
        equal(f'{family}: {client}: each key is on one server', [], [key for key, at in zip(KEYS, places)
                                                                     if len(at) != 1])
    for client, places in rows[1:]:
        equal(f'{family}: {client}: all keys are where they are by {rows[0][0]}', len(KEYS),
              agreement(rows[0][1], places))
    for other, places in first:
        same = agreement(rows[0][1], places)
        true(f'{family}: less than half of the keys are where they are by {other}', same < len(KEYS) / 2, same)
    first.append((family, rows[0][1]))
for one in gateways:
    one.stop(f'gateway{one.place}')
finish()
