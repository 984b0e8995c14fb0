#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""redis_belts.t - in a guest: ioredis shares entries with hbctl, with clients of memcached, with the package for
Python and with redis-py."""

import os
import subprocess
import sys

OURS = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(f'{OURS}/../..')
sys.path[:0] = [f'{OURS}/../serve', TOP]

import hashbelt
import redis
from serve import Server, entry, equal, finish, make_belt

# Node.js looks for modules above the program.
os.symlink('/usr/share/npm/node_modules', f'{TOP}/node_modules')
on = make_belt('main', '--ttl', '5m')
server = Server('--protocol', 'redis')


def run(*words):
    """Run a program. Returns its output, with its status if that is not 0."""
    done = subprocess.run(words, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=280)
    return done.stdout.decode() + (f'status {done.returncode}' if done.returncode else '')


def ioredis(code):
    """Run code that has a client of ioredis. Returns what it prints."""
    return run('node', '-e', f"""
        const client = new (require('ioredis'))('{server.path}');
        (async () => {{ {code} }})().finally(() => client.disconnect());
    """)


# One entry for all
equal('ioredis sets an entry for 100 s', 'OK',
      ioredis("process.stdout.write(await client.set('shared', 'value', 'EX', 100))"))
equal('hbctl reads it', 'value', on('get', 'shared'))
equal('with exactly this time-to-live', 100000, entry(on, 'shared').get('ttl_ms'))
memcached = Server()
equal('a client of memcached reads it, with this time-to-live', 'VA 5 t100 value',
      memcached.connect().ask('mg shared t v'))
belt = hashbelt.open('main')
found = belt.entry('shared')
equal('the package for Python reads it, with this time-to-live', (b'value', 100.0), (found.value, found.ttl))
one = redis.Redis(unix_socket_path=server.path)
equal('so does redis-py', (b'value', 100000), (one.get('shared'), one.pttl('shared')))
three = redis.Redis(unix_socket_path=server.path, protocol=3)
equal('so does redis-py by RESP 3', (b'value', 100000), (three.get('shared'), three.pttl('shared')))
belt.set('back', b'there', ttl=50)
memcached.connect().set('too', 'here', 60)
equal('ioredis reads what the package for Python and a client of memcached have set, with their times-to-live',
      '["there",50000,"here",60000]', ioredis("""
          process.stdout.write(JSON.stringify([await client.get('back'), await client.pttl('back'),
                                               await client.get('too'), await client.pttl('too')]))"""))
on('advance', '50s')
equal('an entry ends for all at its time', (None, 'EN', 1, True),
      (one.get('back'), memcached.connect().ask('mg back v'), one.exists('too'), 'back' not in belt))
memcached.stop('memcached')
server.stop('redis')
finish()
