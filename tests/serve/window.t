#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""window.t - hbserve answers gets by the window of a belt, and its clients see nothing of that."""

import json

from serve import Server, equal, finish, hbctl, make_belt, result, true

KEYS = [f'k{number}' for number in range(10)]

on = make_belt('main', '--ttl', '5m', '--window', '64k')
server = Server('-t', 1)
client = server.connect()


def hits():
    """Gets that the kernel has answered with an entry."""
    return json.loads(on('stat', '--json'))['hits']


def asked(name, most, line, count, wanted):
    """The same request again and again has the right reply, and few of its gets ask the kernel."""
    before = hits()
    found = {client.ask(line) for _ in range(count)}
    equal(f'{name}: all replies are right', {wanted}, found)
    after = hits() - before
    true(f'{name}: at most {most} gets ask the kernel', after <= most, f'found {after}')


for key in KEYS:
    client.set(key, f'value of {key}')
ONE = 'VALUE k3 0 11 value of k3 END'
ALL = ' '.join(f'VALUE {key} 0 11 value of {key}' for key in KEYS) + ' END'
asked('100 gets of a key', 5, 'get k3', 100, ONE)
asked('30 gets of ten keys at once', 40, 'get ' + ' '.join(KEYS), 30, ALL)
asked('30 gets of ten keys, two of them missing', 10, 'get no ' + ' '.join(KEYS) + ' nor', 30, ALL)
true('the belt has slots in use', json.loads(on('info', '--json'))['window_used'] >= len(KEYS))
equal('the reply to mg has flags, time left and value', 'VA 11 f0 t-1 value of k3', client.ask('mg k3 f t v'))

# Changes
on('put', 'k3', 'another one')
equal('get returns what hbctl has put over it', 'VALUE k3 0 11 another one END', client.ask('get k3'))
ALL = ALL.replace('value of k3', 'another one')
asked('after a put, 30 gets of ten keys', 15, 'get ' + ' '.join(KEYS), 30, ALL)
on('rm', 'k3')
equal('get of ten keys misses what hbctl has removed', ALL.replace('VALUE k3 0 11 another one ', ''),
      client.ask('get ' + ' '.join(KEYS)))
client.send('set k3 0 0 1\r\na\r\nget k3\r\nset k3 0 0 1\r\nb\r\nget k3\r\n')
equal('pipelined sets and gets of a key are made in their order',
      b'STORED\r\nVALUE k3 0 1\r\na\r\nEND\r\nSTORED\r\nVALUE k3 0 1\r\nb\r\nEND\r\n', client.exactly(60))
client.set('short', 'v', seconds=10)
asked('100 gets of a key with a deadline', 5, 'get short', 100, 'VALUE short 0 1 v END')
on('advance', '9999ms')
equal('get returns it 1 ms before its deadline', 'VALUE short 0 1 v END', client.ask('get short'))
on('advance', '1ms')
equal('get misses it at its deadline', 'END', client.ask('get short'))
client.ask('flush_all')
equal('get misses all keys after flush_all', 'END', client.ask('get ' + ' '.join(KEYS)))

# A window that comes and goes
client.set('k', 'v')
on('set', 'main', '--window', 'off')
equal('get returns an entry after the window was taken away', 'VALUE k 0 1 v END', client.ask('get k'))
on('set', 'main', '--window', '128k')
result('300 gets are right while hbserve finds the new window',
       {client.ask('get k') for _ in range(300)} != {'VALUE k 0 1 v END'} and 'a reply was wrong')
asked('100 gets after that', 5, 'get k', 100, 'VALUE k 0 1 v END')
for size in ('64k', '128k', '64k', '128k'):
    on('set', 'main', '--window', size)
    asked(f'300 gets of a key, after a window of {size} took the place of another', 270, 'get k', 300, 'VALUE k 0 1 v END')
with open(f'/proc/{server.process.pid}/maps', encoding='ascii') as maps:
    equal('hbserve has one window mapped after the belt has had many', 1,
          sum('[hashbelt]' in line for line in maps))
hbctl('destroy', 'main')
equal('get of a destroyed belt is an error', 'SERVER_ERROR belt main does not exist', client.ask('get k'))
on = make_belt('main', '--window', '64k')
equal('get misses in the next belt of that name', 'END', client.ask('get k'))
client.set('k', 'new')
asked('100 gets of a key in it', 5, 'get k', 100, 'VALUE k 0 3 new END')
server.stop('hbserve ends after SIGTERM')
finish()
