# SPDX-License-Identifier: GPL-2.0-only
"""pymemcache_calls.py SOCKET PORT - calls of pymemcache on a server. Prints the result of each."""

import sys

from pymemcache.client.base import Client
from pymemcache.client.hash import HashClient
from pymemcache.client.retrying import RetryingClient
from pymemcache.exceptions import MemcacheUnexpectedCloseError

path = sys.argv[1]


def attempt(name, call, *words, **more):
    """Run a call and print its result or its error."""
    try:
        found = call(*words, **more)
    except (OSError, MemcacheUnexpectedCloseError):
        # Which one it is depends on when the client sees the end.
        print(f'{name}: the connection is closed')
        return
    except Exception as error:  # pylint: disable=broad-except
        found = f'{type(error).__name__}: {error}'[:120]
        print(f'{name}: {found}')
        return
    if isinstance(found, bytes) and len(found) > 300:
        found = f'{len(found)} bytes'
    print(f'{name}: {found!r}')


def call_all(client):
    """Calls that each kind of client has."""
    attempt('flush_all', client.flush_all)
    attempt('get of a missing key', client.get, 'none')
    attempt('set', client.set, 'k', 'value', 100)
    attempt('get', client.get, 'k')
    attempt('set of an empty value', client.set, 'empty', '')
    attempt('get of an empty value', client.get, 'empty')
    attempt('add of a present key', client.add, 'k', 'x')
    attempt('add', client.add, 'new', 'x')
    attempt('replace', client.replace, 'new', 'y')
    attempt('replace of a missing key', client.replace, 'none', 'y')
    attempt('append', client.append, 'new', '>')
    attempt('prepend', client.prepend, 'new', '<')
    attempt('append to a missing key', client.append, 'none', '>')
    attempt('get after append', client.get, 'new')
    attempt('incr of a missing key', client.incr, 'n', 2)
    client.set('n', '40')
    attempt('incr', client.incr, 'n', 2)
    attempt('decr below 0', client.decr, 'n', 50)
    attempt('incr of a text', client.incr, 'k', 1)
    attempt('touch', client.touch, 'k', 50)
    attempt('touch of a missing key', client.touch, 'none', 50)
    attempt('set_many', client.set_many, {'a': '1', 'b': '2', 'c': '3'})
    attempt('get_many', client.get_many, ['a', 'b', 'c', 'none'])
    attempt('delete', client.delete, 'a')
    attempt('delete of a missing key', client.delete, 'a')
    attempt('delete_many', client.delete_many, ['b', 'c', 'none'])
    attempt('get_many after delete_many', client.get_many, ['a', 'b', 'c'])
    version = client.gets('k')[1]
    attempt('cas', client.cas, 'k', 'v', version)
    attempt('cas of an old version', client.cas, 'k', 'w', version)
    attempt('cas of a missing key', client.cas, 'none', 'w', version)
    attempt('get after cas', client.get, 'k')
    attempt('gets of a missing key', client.gets, 'none')


client = Client(path, default_noreply=False, timeout=60, connect_timeout=60)
attempt('version', client.version)
call_all(client)
attempt('gets_many', lambda: {key: found[0] for key, found in client.gets_many(['k', 'none']).items()})
attempt('set with flags', client.set, 'k', 'v', flags=(1 << 32) - 1)
attempt('raw_command of get with flags', client.raw_command, 'get k', 'END\r\n')
attempt('set with flags of 33 bits', client.set, 'k', 'v', flags=1 << 32)
attempt('get after flags of 33 bits', client.get, 'k')
attempt('stats', lambda: b'curr_connections' in client.stats())
attempt('cache_memlimit', client.cache_memlimit, 64)
attempt('in step after cache_memlimit', client.get, 'new')

# Requests that are refused, and what follows on the same connection. Without its checks of keys, the client
# sends them as they are.
client.check_key = lambda key, *_, **more: key.encode('latin1')
for name, key in {
        'an empty key': '',
        'a key with a NUL': 'a\0b',
        'a key with a byte above 127': 'a\xe9b',
        'a key with a tab': 'a\tb',
        'a key of 250 bytes': 'k' * 250,
        'a key of 251 bytes': 'k' * 251,
        'a key of 2000 bytes': 'k' * 2000}.items():
    client.set('sync', 'in step')
    attempt(f'set of {name}', client.set, key, 'flush_all\r\nflush_all')
    attempt(f'get of {name}', client.get, key)
    attempt(f'get_many with {name}', client.get_many, ['sync', key])
    attempt(f'incr of {name}', client.incr, key, 1)
    attempt(f'delete of {name}', client.delete, key)
    attempt(f'in step after {name}', client.get, 'sync')
    client.set('sync', 'in step', noreply=True)
    client.set(key, 'flush_all\r\nflush_all', noreply=True)
    attempt(f'in step after a set with noreply of {name}', client.get, 'sync')
    client.close()
for name, length in {'a value of 1 MiB less 1000 bytes': (1 << 20) - 1000, 'a value of 1 MiB': 1 << 20,
                     'a value of 2 MiB': 2 << 20}.items():
    client.set('large', 'old')
    attempt(f'set of {name}', client.set, 'large', b'v' * length)
    attempt(f'get of {name}', client.get, 'large')
    attempt(f'in step after {name}', client.get, 'sync')
    client.set('large', 'old')
    client.set('large', b'v' * length, noreply=True)
    attempt(f'in step after a set with noreply of {name}', client.get, 'sync')
    attempt(f'get after a set with noreply of {name}', client.get, 'large')
client.close()

for kind, other in (
        ('HashClient', HashClient([path], default_noreply=False, use_pooling=True)),
        ('RetryingClient', RetryingClient(Client(path, default_noreply=False), attempts=2))):
    print(f'{kind}:')
    call_all(other)
