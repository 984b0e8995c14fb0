# SPDX-License-Identifier: GPL-2.0-only
"""pylibmc_calls.py SOCKET PORT - calls of pylibmc on a server. Prints the result of each."""

import sys

import pylibmc

client = pylibmc.Client([sys.argv[1]], behaviors={'cas': True})


def attempt(name, call, *words, **more):
    """Run a call and print its result or its error."""
    try:
        found = call(*words, **more)
    except pylibmc.Error as error:
        found = type(error).__name__
    print(f'{name}: {found!r}')


def set_and_get(seconds):
    """Set a value over another one for this time, and get it."""
    client.set('k', 'old')
    return client.set('k', 'new', seconds), client.get('k')


attempt('flush_all', client.flush_all)
for seconds in (0, 100, -1, -60, 2592001, 4102444800):
    attempt(f'set for {seconds}', set_and_get, seconds)
attempt('add', client.add, 'a', 1)
attempt('add of a present key', client.add, 'a', 2)
attempt('replace', client.replace, 'a', [1, 'two'])
attempt('get of an object', client.get, 'a')
attempt('set_multi', client.set_multi, {'b': 1, 'c': 'ü'}, time=100)
attempt('get_multi', lambda: sorted(client.get_multi(['b', 'c', 'none']).items()))
attempt('incr', client.incr, 'b', 5)
attempt('decr below 0', client.decr, 'b', 50)
attempt('incr of a missing key', client.incr, 'none')
attempt('touch', client.touch, 'b', 50)
attempt('touch of a missing key', client.touch, 'none', 50)
attempt('gets and cas', lambda: client.cas('b', 7, client.gets('b')[1]))
attempt('cas with an old number', lambda: (client.gets('b')[1], client.set('b', 8), client.cas('b', 9, 1))[1:])
attempt('append', lambda: (client.set('t', 'x'), client.append('t', 'y'), client.get('t')))
attempt('delete', lambda: (client.delete('t'), client.delete('t')))
attempt('delete_multi', client.delete_multi, ['b', 'c'])
attempt('a compressed value', lambda: (client.set('z', 'x' * 3000000, min_compress_len=1000), len(client.get('z'))))
