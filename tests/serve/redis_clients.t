#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""redis_clients.t [PROGRAM] - redis-py and redis-cli with hbserve, by the protocol of Redis. PROGRAM is hbserve, or
hbserve-fake, which needs no module."""

import subprocess
import sys
import threading

import redis
from redis.exceptions import LockNotOwnedError

from serve import Server, at_last, entry, equal, finish, make_belt, result, true

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else 'hbserve'
on = make_belt('main', '--ttl', '5m') if PROGRAM == 'hbserve' else None
if on:
    make_belt('limits', '--ttl', '5m')
server = Server('--protocol', 'redis', '--database', '1=limits', program=PROGRAM)


def client(**options):
    return redis.Redis(unix_socket_path=server.path, **options)


def refused(call):
    """The error of a call."""
    try:
        return f'it returns {call()!r}'
    except redis.RedisError as error:
        return str(error)


def cli(*words):
    done = subprocess.run(['redis-cli', '-s', server.path, *words], capture_output=True, check=False, timeout=120)
    return (done.stdout + done.stderr).decode('latin1').rstrip()


# redis-py
one = client()
one.flushdb()
equal('redis-py pings', True, one.ping())
equal('redis-py sets and reads each byte', bytes(range(256)), (one.set('k', bytes(range(256))), one.get('k'))[1])
equal('redis-py reads the version', True, one.info()['redis_version'].startswith('7.'))
equal('redis-py reads how many entries have expired and were evicted', [int, int],
      [type(one.info().get(name)) for name in ('expired_keys', 'evicted_keys')])
one.set('k', 'v', ex=100)
equal('redis-py reads how many entries are there, by databases', {'keys': 1, 'expires': 0, 'avg_ttl': 0},
      one.info()['db0'])
true('a time-to-live is kept', 95 <= one.ttl('k') <= 100, one.ttl('k'))
equal('a pipeline is one transaction', [True, 1, 2, b'2'],
      one.pipeline().set('n', 0).incr('n').incr('n').get('n').execute())
equal('many keys are set and read', [b'1', None, b'2'], (one.mset({'a': 1, 'b': 2}), one.mget('a', 'none', 'b'))[1])
equal('an error in a transaction is that of its command', True,
      'not an integer' in refused(lambda: one.pipeline().set('w', 'x').incr('w').execute()))
equal('an unknown command lets a transaction do nothing', (True, None),
      ('unknown command' in refused(lambda: one.pipeline().set('t', 1).hset('h', 'f', 1).execute()), one.get('t')))
one.delete('k', 'n', 'a', 'b', 'w')
for i in range(3000):
    one.set(f'scan:{i}', i)
one.set('other', 1)
found = list(one.scan_iter('scan:*', count=100))
equal('a scan finds each key once', sorted(f'scan:{i}'.encode() for i in range(3000)), sorted(found))
one.mset({f'many:{i}': i for i in range(9000)})
cursor, part = one.scan(0, match='many:*', count=1000000)
true('a scan ends before 9000 keys, whatever its count', cursor and len(part) < 9000, (cursor, len(part)))
equal('the scans after it find the others', 9000, len(set(one.scan_iter('many:*', count=1000000))))
one.delete(*(f'many:{i}' for i in range(9000)))
equal('3001 keys are removed in one command', 3001, one.delete('other', *found))

# Locks of redis-py: its scripts by their digests
lock = one.lock('lock', timeout=100)
equal('a lock is taken', True, lock.acquire(blocking=False))
equal('another client does not get it', False, client().lock('lock', timeout=100).acquire(blocking=False))
lock.extend(100)
true('it is extended', 195 <= one.ttl('lock') <= 200, one.ttl('lock'))
lock.reacquire()
true('it is renewed', 95 <= one.ttl('lock') <= 100, one.ttl('lock'))
lock.release()
equal('it is released', None, one.get('lock'))
lock.acquire()
one.set('lock', 'another')
try:
    lock.release()
    result('the lock of another owner is not released', 'it is released')
except LockNotOwnedError:
    equal('the lock of another owner is not released', b'another', one.get('lock'))

one.set('k', 1)

# Many requests at once
raw = server.connect()
sender = threading.Thread(target=raw.send, args=('*2\r\n$3\r\nGET\r\n$1\r\nk\r\n' * 100000,))
sender.start()
equal('a pipeline of 100,000 gets is answered in order', b'$1\r\n1\r\n' * 100000, raw.exactly(700000))
sender.join()
before = server.memory()
raw.send('INCR n\r\n' * 10000)
equal('10,000 inline commands are answered in order', ''.join(f':{i + 1}\r\n' for i in range(10000)),
      raw.until(b':10000\r\n'))
one.set('large', 'x' * 500000)
slow = server.connect()
slow.send('*2\r\n$3\r\nGET\r\n$5\r\nlarge\r\n' * 200)
one.get('k')
grown = server.memory() - before
true('what the server holds for a client that does not read is limited', grown < 100000, f'it has grown by {grown} KiB')
slow.close()
half = server.connect()
half.send('*3\r\n$3\r\nSET\r\n$1\r\nh\r\n$1000000\r\nabc')
half.drained()
half.close()
equal('a value of which a part was sent is not stored', None, one.get('h'))
for _ in range(3):
    equal('an unknown script is refused', 'this script is unknown, and hbserve has no Lua',
          refused(lambda: one.eval('return 1', 0)))
equal('the log names it once', 1, server.said().count('e0e1f9fabfc9d4800c877a703b823ac0578ff8db'))
true('the log names a refused command', at_last(lambda: "'HSET' is refused" in server.said()), server.said())
for name, advice in (('LPUSH', 'values of a belt are strings'), ('SADD', 'values of a belt are strings'),
                     ('SUBSTR', 'GETRANGE is the same'), ('SETBIT', 'does not have it'), ('BITCOUNT', 'does not have it'),
                     ('READONLY', 'does not have it'), ('SPUBLISH', '__keyevent'), ('RENAME', 'not atomic')):
    refused(lambda name=name: one.execute_command(name, 'k', 0, 1))
    found = [line for line in server.said().splitlines() if f"'{name}' is refused" in line]
    true(f'the advice of the log fits {name}', len(found) == 1 and advice in found[0], found)

# redis-cli
equal('redis-cli gets', '1', cli('GET', 'k'))
equal('redis-cli speaks RESP 3', '(nil)', cli('-3', '--no-raw', 'GET', 'none'))
equal('redis-cli scans', 'k', '\n'.join(sorted(key for key in cli('--scan').split() if key == 'k')))
equal('redis-cli takes a database', '', cli('-n', '1', 'GET', 'k'))
equal('redis-cli shows an error', True, cli('HSET', 'a', 'b', 'c').startswith("ERR unknown command 'HSET'"))

measured = subprocess.run(['redis-benchmark', '-s', server.path, '-t', 'ping,set,get,incr,mset', '-n', '2000', '-P', '16',
                           '--csv'], capture_output=True, check=False, timeout=300)
equal('redis-benchmark measures', ['PING_INLINE', 'PING_MBULK', 'SET', 'GET', 'INCR', 'MSET (10 keys)'],
      [line.split('"')[1] for line in measured.stdout.decode().splitlines()[1:]])

# Other programs
if on:
    one.set('shared', 'value', px=100000)
    told = entry(on, 'shared')
    equal('hbctl reads what redis-py has set', 'value', on('get', 'shared'))
    equal('with its time-to-live', 100000, told['ttl_ms'])
    memcached = Server()
    equal('a client of memcached reads it, with this time-to-live', 'VA 5 t100 value',
          memcached.connect().ask('mg shared t v'))
    memcached.connect().set('too', 'here', 60)
    memcached.stop('memcached')
    equal('redis-py reads what a client of memcached has set', (b'here', 60000), (one.get('too'), one.pttl('too')))
    on('put', 'back', 'there', '--ttl', '50s')
    equal('redis-py reads what hbctl has put', (b'there', 50), (one.get('back'), one.ttl('back')))
    on('put', 'k', 'x', '--ttl', 'never')
    equal('two conditions on a time-to-live', [True, False, True, False],
          [one.expire('k', 10, nx=True), one.expire('k', 10, nx=True), one.expire('k', 20, gt=True),
           one.expire('k', 5, gt=True)])
server.stop('redis-py and redis-cli')
finish()
