#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""redis_test.py - hbfollow removes what changes in Redis, and nothing else."""

import os
import signal
import socket
import time

from follow import (DIRECTORY, FAKE, NOBODY, Belt, Follower, Redis, at_last, certificates, equal, finish, hbctl,
                    manual_block, new_path, true)

redis = Redis()
belt = Belt()
belt.put('page:old')
follower = Follower(belt, '-v', redis.url('?prefix=page:&prefix=user:')).wait_until(True)
true('the belt is cleared before it is followed', not belt.has('page:old'))


def removes(name, keys, kept, *words):
    belt.removes(name, keys, kept, lambda: redis.client.execute_command(*words))


# Each way to change a key
removes('SET', ['page:1'], ['page:2', 'other'], 'SET', 'page:1', 'a')
removes('DEL', ['page:1'], ['page:2'], 'DEL', 'page:1')
removes('MSET', ['page:1', 'page:2', 'user:1'], ['page:3', 'other'], 'MSET', 'page:1', 'a', 'page:2', 'b',
        'other', 'c', 'user:1', 'd')
removes('RENAME', ['page:1', 'page:9'], ['page:2'], 'RENAME', 'page:1', 'page:9')
removes('a script', ['page:5'], ['page:2'], 'EVAL', "return redis.call('SET', KEYS[1], 'x')", 1, 'page:5')
removes('a key with blanks and other bytes', ['page: \t%~/'], ['page:2'], 'SET', 'page: \t%~/', 'x')
redis.client.execute_command('DEBUG', 'SET-ACTIVE-EXPIRE', 0)
removes('SET with a deadline', ['page:7'], ['page:2'], 'PSETEX', 'page:7', 1, 'x')
removes('expiry', ['page:7'], ['page:2'], 'DEBUG', 'SET-ACTIVE-EXPIRE', 1)
belt.put('page:1', 'page:2', 'page:3')
with redis.client.pipeline(transaction=True) as pipeline:
    pipeline.set('page:1', 'x').set('page:2', 'y').execute()
true('MULTI: all its keys are removed', at_last(lambda: not belt.keys('page:1', 'page:2')))
equal('MULTI: other keys stay', True, belt.has('page:3'))
for command in ('FLUSHALL', 'FLUSHDB'):
    removes(f'{command} clears', ['page:1', 'other'], [], command)
    belt.put('other')
    redis.client.execute_command('SET', 'other', 'x')
belt.put('other')
with redis.client.pipeline(transaction=True) as pipeline:
    for line in manual_block('MULTI').splitlines()[1:-1]:
        pipeline.execute_command(*line.split())
    pipeline.execute()
true('SWAPDB with a FLUSHDB of an empty database clears', at_last(lambda: not belt.has('other')))
redis.client.execute_command('SET', 'other', 'x')
many = [f'page:{i}' for i in range(20000)]
belt.put('page:first', 'other', *many[:10], *many[-10:])
redis.client.mset({key: 'x' for key in many})
true('a command that changes 20000 keys removes them all', at_last(
    lambda: follower.figures()['keys_total'] > 20000 and not belt.keys(*many[:10], *many[-10:])))
equal('keys that did not change stay', ['page:first', 'other'], belt.keys('page:first', 'other'))

# Messages that anyone may publish
belt.put('page:1', 'other')
redis.client.publish('__redis__:invalidate', 'page:1')
removes('after a message of another client', ['page:2'], ['page:1', 'other'], 'SET', 'page:2', 'x')

belt.put('other')
follower.stop('Redis')
true('the belt is cleared at the end', not belt.has('other'))
equal('the file of figures says that it has ended', 0, follower.figures()['state'])

# Figures
belt = Belt('a"b\\c\nd') if FAKE else belt
follower = Follower(belt, redis.url('?prefix=page:'), umask=0o077).wait_until(True)
belt.put('page:1')
redis.client.set('page:' + 'x' * 1024, 'long')
redis.client.set('page:1', 'x')
redis.client.set('page:absent', 'x')
true('keys that were told are counted', at_last(lambda: follower.figures()['keys_total'] == 3))
figures = follower.figures()
equal('the entry that was removed and the key that is too long for a belt are counted', [1, 1],
      [figures['keys_removed_total'], figures['keys_unfit_total']])
true('the delay is that of an answer', 0 < figures['delay_seconds'] < 30, figures)
equal('the state, the belt and losses', [1, 1, 0], [figures['state'], figures['belt'], figures['losses_total']])
true('the state has a beginning', time.time() - 600 < figures['since_seconds'] < time.time() + 1, figures)
equal('all users may read the figures, whatever the umask', '0o644', oct(os.stat(follower.metrics).st_mode & 0o777))
with open(follower.metrics, encoding='ascii') as file:
    lines = file.read().splitlines()
samples = [line.split('{')[0] for line in lines if not line.startswith('#')]
equal('each figure has its type', {name: 'counter' if name.endswith('_total') else 'gauge' for name in samples},
      dict(line.split()[2:] for line in lines if line.startswith('# TYPE')))
labels = r'{belt="a\"b\\c\nd",engine="redis"} ' if FAKE else '{belt="pages",engine="redis"} '
true('each figure has its labels', all(labels in line for line in lines if not line.startswith('#')), lines)
true('no other file is left', not os.path.exists(f'{follower.metrics}.new'))
os.unlink(follower.metrics)
os.mkdir(follower.metrics)
redis.client.set('page:2', 'x')
true('figures that cannot be written are told', at_last(lambda: 'cannot write' in follower.said()), follower.said())
follower.stop('figures')
belt = Belt()

# Names
follower = Follower(belt, '--map', 'page:old:=archive:', '--strip', 'page:', '--map', 'user:=u', '--map',
                    'user:new:=never', '--map', 'long:=y', redis.url()).wait_until(True)
named = {'page:1': '1', 'page:old:1': 'archive:1', 'user:1': 'u1', 'user:': 'u', 'user:new:7': 'unew:7', 'page': 'page',
         'Page:1': 'Page:1', 'xpage:1': 'xpage:1', 'other': 'other'}
if FAKE:
    named['page:\0a'] = '\0a'
removes('--strip and --map', [*named.values()], ['page:1', 'user:1', 'never7'], 'MSET',
        *(word for key in named for word in (key, 'x')))
for key in ('page:', 'x' * 1024, 'x' * 1025, 'long:' + 'x' * 1023, 'long:' + 'x' * 1024):
    redis.client.set(key, 'x')
true('keys with names of 1 to 1024 bytes fit the belt', at_last(
    lambda: follower.figures()['keys_total'] == len(named) + 5) and follower.figures()['keys_unfit_total'] == 3,
    follower.figures())
follower.stop('names')

# A unix socket
follower = Follower(belt, f'redis+unix://{redis.path}?prefix=page:').wait_until(True)
removes('a unix socket', ['page:1'], ['other'], 'SET', 'page:1', 'a')
follower.stop('a unix socket')

# Users and passwords: the rights are those of hbfollow(8)
password = new_path()


def write_password(text):
    with open(f'{password}.new', 'wb') as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
    os.rename(f'{password}.new', password)


write_password(b'first\nno password\n')
redis.client.execute_command(*manual_block('ACL SETUSER').replace('PASSWORD', 'first').split())
follower = Follower(belt, '--password-file', password, redis.url('?prefix=page:', 'follower@')).wait_until(True)
removes('a user with few rights', ['page:1'], ['other'], 'SET', 'page:1', 'a')
redis.client.execute_command('ACL', 'SETUSER', 'follower', '<first', '>second')
redis.client.execute_command('CLIENT', 'KILL', 'TYPE', 'pubsub')
true('a password that was changed in Redis alone is refused', at_last(lambda: 'WRONGPASS' in follower.said()))
belt.put('page:1')
true('the belt is cleared while the password is wrong', at_last(lambda: not belt.has('page:1')))
write_password(b'second')
follower.wait_until(True)
true('it follows when the file has the new password', 'second' not in follower.said())
follower.stop('a changed password')
redis.client.execute_command('CONFIG', 'SET', 'requirepass', 'second')
follower = Follower(belt, redis.url())
true('a server that needs a password says so', at_last(lambda: 'NOAUTH' in follower.said()))
follower.stop('without a password')
LONGEST = b'x' * 4095
for secret, good in (('a bä\r', [b'a b\xc3\xa4\r\r\n']), (LONGEST, [LONGEST, LONGEST + b'\n'])) if FAKE else ():
    redis.client.execute_command('CONFIG', 'SET', 'requirepass', secret)
    for data in good:
        write_password(data)
        Follower(belt, '--password-file', password, redis.url()).wait_until(True).stop('a password of the default user')
redis.client.execute_command('CONFIG', 'SET', 'requirepass', 'second')
for data, wrong in ((b'', 'it is empty'), (b'\nsecret\n', 'first line is empty'), (b'\r\n', 'first line is empty'),
                    (b'sec\0ret\n', 'zero byte'), (b'\xef\xbb\xbfsecret', 'byte order mark'),
                    (LONGEST + b'x\n', 'too long'), (b'secret', 'chmod o=')):
    write_password(data)
    os.chmod(password, 0o604 if 'chmod' in wrong else 0o600)
    follower = Follower(belt, '--password-file', password, redis.url())
    follower.stop(f'a file without a password, {wrong}', number=0, status=1)
    true(f'its message says why: {wrong}', wrong in follower.said() and 'secret' not in follower.said(),
         follower.said())
redis.client.execute_command('AUTH', 'second')
redis.client.execute_command('CONFIG', 'SET', 'requirepass', '')

# TLS
secure = Redis(tls=True)
ours = certificates()
url = f'rediss://127.0.0.1:{secure.port}/'
follower = Follower(belt, '--tls-ca', f'{ours}/ca.pem', url).wait_until(True)
belt.put('k')
secure.client.set('k', 'x')
true('TLS: a changed key is removed', at_last(lambda: not belt.has('k')))
many = {f'key {i}': 'x' for i in range(20000)}
secure.client.mset(many)
true('TLS: 20000 keys are told', at_last(lambda: follower.figures()['keys_total'] == 20001))
follower.stop('TLS')
# The guest knows no names. 127.1 is 127.0.0.1, but a name.
if FAKE:
    follower = Follower(belt, '--tls-ca', f'{ours}/ca.pem', url.replace('127.0.0.1', 'localhost')).wait_until(True)
    follower.stop('TLS: a certificate for the name of the URL')
follower = Follower(belt, '--tls-ca', f'{ours}/ca.pem', url.replace('127.0.0.1', '127.1'))
true('TLS: a certificate for another name is refused', at_last(
    lambda: 'does not follow' in follower.said() and 'ostname mismatch' in follower.said()), follower.said())
follower.stop('TLS: a certificate for another name')
secure.client.execute_command('CONFIG', 'SET', 'tls-auth-clients', 'yes')
follower = Follower(belt, '--tls-ca', f'{ours}/ca.pem', url)
true('TLS: a server that demands a certificate refuses none', at_last(
    lambda: 'does not follow' in follower.said()))
follower.stop('TLS without a certificate')
follower = Follower(belt, '--tls-ca', f'{ours}/ca.pem', '--tls-cert', f'{ours}/client.pem', '--tls-key',
                    f'{ours}/client.key', url).wait_until(True)
follower.stop('TLS with a certificate')
for name, more, where in (('of an authority that is not trusted', ['--tls-ca', f'{ours}/stranger.pem'], url),
                          ('without its authority', [], url),
                          ('of a server without TLS', [], redis.url().replace('redis:', 'rediss:'))):
    follower = Follower(belt, *more, where)
    true(f'TLS: a certificate {name} is refused', at_last(lambda: 'does not follow' in follower.said()))
    true(f'TLS: a certificate {name}: it does not follow', not follower.follows())
    follower.stop(f'TLS: a certificate {name}')
follower = Follower(belt, '--tls-ca', '/nowhere', url)
follower.stop('TLS: a file that is not there', number=0, status=1)
true('TLS: a file that is not there is named', '/nowhere' in follower.said())

# The service manager
states = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
states.bind(f'{DIRECTORY}/notify')
states.settimeout(60)
belt.put('old')
follower = Follower(belt, redis.url(), environment={'NOTIFY_SOCKET': f'{DIRECTORY}/notify'})
told = ''
while 'READY=1' not in told:
    told = states.recv(1000).decode()
true('the service manager is told that it is ready when the belt is cleared', not belt.has('old'))
while 'STATUS=follows' not in told:
    told = states.recv(1000).decode()
true('the service manager is told that it follows', True)
follower.stop('the service manager')
while 'STOPPING=1' not in told:
    told = states.recv(1000).decode()
true('the service manager is told that it stops', True)


def replace(*keys):
    """Put another belt, with these entries, in the place of the belt."""
    follower.signal(signal.SIGSTOP)
    if FAKE:
        os.rename(belt.path, new_path('.gone'))
    else:
        belt.destroy()
    belt.make()
    belt.put(*keys)
    follower.signal(signal.SIGCONT)


follower = Follower(belt, '-v', redis.url()).wait_until(True)
replace('k', 'l')
true('a belt that was made in place of another is cleared', at_last(lambda: not belt.keys('k', 'l')))
removes('a belt that was made in place of another', ['k'], ['l'], 'SET', 'k', 'x')
true('the engine is not lost meanwhile', follower.follows() and follower.figures()['losses_total'] == 0)
if FAKE:
    os.rename(belt.path, new_path('.gone'))
else:
    belt.destroy()
true('without a belt it follows, and says so', at_last(lambda: follower.figures()['belt'] == 0) and
     follower.follows() and 'there is no belt pages' in follower.said(), follower.said())
redis.client.set('k', 'without a belt')
belt.make()
true('a belt that is made is found', at_last(lambda: follower.figures()['belt'] == 1))
removes('a belt that was made later', ['k'], ['l'], 'SET', 'k', 'y')
follower.stop('belts')
if not FAKE:
    hbctl('set', belt.name, '--mode', '0444')
    os.chmod('/dev/hashbelt', 0o666)
    follower = Follower(belt, redis.url(), user=NOBODY, group=NOBODY, extra_groups=[])
    follower.stop('a belt that it may only read', number=0, status=1)
    true('the message names the right that it lacks', 'no right to' in follower.said(), follower.said())
finish()
