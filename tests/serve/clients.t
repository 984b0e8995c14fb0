#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""clients.t - libmemcached's tools, pylibmc and python3-memcache work with hbserve. Other clients: newest/clients."""

import subprocess

import memcache
import pylibmc

from serve import Server, entry, equal, finish, make_belt, true

on = make_belt('main', '--ttl', '5m')
subprocess.run(['ifconfig', 'lo', '127.0.0.1', 'up'], check=True)
server = Server('-l', '127.0.0.1', '-p', 11211)
server.accepts(('127.0.0.1', 11211))


def tool(*words):
    """Run a program. Returns its status and what it prints."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=250)
    return done.returncode, done.stdout.decode('latin1')


# libmemcached's tools
status, said = tool('memccapable', '-h', '127.0.0.1', '-p', '11211', '-a')
# It expects ERROR of a delete without a key, as memcached answered up to 1.6.38.
failed = [line.partition('[')[0].strip() for line in said.splitlines() if '[FAIL]' in line]
true('memccapable -a fails where it fails on memcached 1.6.45 alone',
     said.count('[pass]') == 25 and failed == ['ascii delete', 'ascii delete noreply'], said)
for servers in ('127.0.0.1:11211', server.path):
    where = 'a unix socket' if servers == server.path else 'TCP'
    for test in ('set', 'get', 'mget'):
        status, said = tool('memcslap', f'--servers={servers}', '--flush', '--concurrency=4',
                            '--execute-number=100', f'--test={test}')
        true(f'memcslap --test={test} over {where}',
             status == 0 and 'Time total' in said and 'rror' not in said and 'ail' not in said, said)
status, said = tool('memcslap', f'--servers={server.path}', '--flush', '--noreply', '--buffer',
                    '--non-blocking',
                    '--concurrency=2', '--execute-number=200', '--test=set')
true('memcslap --noreply --buffer', status == 0 and 'Time total' in said, said)
server.connect().ask('flush_all')
with open('/tmp/copied', 'w', encoding='ascii') as file:
    file.write('a file')
equal('memccp stores a file', (0, ''), tool('memccp', f'--servers={server.path}', '/tmp/copied'))
equal('hbctl gets that file', 'a file', on('get', 'copied'))
equal('memccat prints it', (0, 'a file\n'), tool('memccat', f'--servers={server.path}', 'copied'))
equal('memcexist finds it', 0, tool('memcexist', f'--servers={server.path}', 'copied')[0])
equal('memctouch gives it a time-to-live', 0, tool('memctouch', f'--servers={server.path}', '--expire=60',
                                                   'copied')[0])
equal('hbctl sees this time-to-live', 60000, entry(on, 'copied').get('ttl_ms'))
equal('memcrm removes it', 0, tool('memcrm', f'--servers={server.path}', 'copied')[0])
equal('hbctl misses it', {}, entry(on, 'copied'))
status, said = tool('memcstat', f'--servers={server.path}')
true('memcstat prints the statistics', status == 0 and 'curr_connections' in said, said)
equal('memcping reaches the server', 0, tool('memcping', f'--servers={server.path}')[0])
equal('memcflush empties the belt', (0, '0'), (tool('memcflush', f'--servers={server.path}')[0], on('size')))

# pylibmc, and python3-memcache: they store numbers, texts and objects, by flags
for name, client in (('pylibmc', pylibmc.Client([server.path], behaviors={'cas': True})),
                     ('pylibmc with noreply and buffers', pylibmc.Client([server.path], behaviors={
                         'cas': True, 'no_block': True, 'tcp_nodelay': True})),
                     ('python3-memcache', memcache.Client([f'unix:{server.path}'], cache_cas=True)),
                     ('python3-memcache over TCP', memcache.Client(['127.0.0.1:11211'], cache_cas=True))):
    client.flush_all()
    value = {'name': 'Ann', 'list': [1, 2.5, None]}
    true(f'{name}: set', client.set('k', value, time=100))
    equal(f'{name}: get', value, client.get('k'))
    equal(f'{name}: hbctl sees the time-to-live', 100000, entry(on, 'k').get('ttl_ms'))
    equal(f'{name}: get of a missing key', None, client.get('none'))
    equal(f'{name}: set_multi', [], client.set_multi({f'key{i}': i for i in range(100)}, time=100))
    equal(f'{name}: get_multi', {f'key{i}': i for i in range(100)},
          client.get_multi([f'key{i}' for i in range(120)]))
    equal(f'{name}: incr and decr', (50, 45), (client.incr('key7', 43), client.decr('key7', 5)))
    client.set('text', 'b')
    client.append('text', 'c')
    client.prepend('text', 'a')
    equal(f'{name}: append and prepend', 'abc', client.get('text'))
    equal(f'{name}: add and replace', (False, True, True, False), (
        bool(client.add('k', 1)), bool(client.add('new', 1)), bool(client.replace('k', 1)),
                                                            bool(client.replace('none', 1))))
    if name.startswith('pylibmc'):
        found, version = client.gets('k')
        equal(f'{name}: cas', (1, True, False), (found, client.cas('k', 2, version), client.cas('k', 3,
                                                            version)))
    else:
        found = client.gets('k')
        first = bool(client.cas('k', 2))
        on('put', 'k', '3')
        equal(f'{name}: cas', (1, True, False), (found, first, bool(client.cas('k', 4))))
    true(f'{name}: touch', client.touch('text', 50))
    equal(f'{name}: hbctl sees the new time-to-live', 50000, entry(on, 'text').get('ttl_ms'))
    on('advance', '50s')
    equal(f'{name}: get after the time-to-live', None, client.get('text'))
    client.set('squeezed', 'x' * 100000, min_compress_len=1000)
    equal(f'{name}: a compressed value', 'x' * 100000, client.get('squeezed'))
    true(f'{name}: delete', client.delete('k'))
    true(f'{name}: delete_multi', client.delete_multi([f'key{i}' for i in range(100)]))
    equal(f'{name}: get_multi after delete_multi', {}, client.get_multi([f'key{i}' for i in range(100)]))
    true(f'{name}: get_stats', b'curr_connections' in client.get_stats()[0][1] or
         'curr_connections' in client.get_stats()[0][1])
    on('put', 'ours', 'from hbctl', '--flags', 16 if name.startswith('pylibmc') else 0)
    found = client.get('ours')
    true(f'{name}: get of what hbctl has put', found in ('from hbctl', b'from hbctl'), repr(found))

# examples/serve/counter.py
counter = ('python3', '/payload/examples/counter.py', server.path)
server.connect().ask('flush_all')
equal('counter.py: the first visit makes a report', (0, 'visit 1\nreport (made): 1 visits\n'), tool(*counter))
equal('counter.py: the second finds it', (0, 'visit 2\nreport (cached): 1 visits\n'), tool(*counter))
equal('counter.py: hbctl gets the number of visits', '2', on('get', 'visits'))
on('advance', '60s')
equal('counter.py: after 60 s the report is made again', (0, 'visit 3\nreport (made): 3 visits\n'),
      tool(*counter))
server.stop('clients')
finish()
