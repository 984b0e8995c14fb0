#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""access.t - passwords, TLS and socket activation of hbserve. Its sockets: listen_test."""

import glob
import os
import socket
import ssl
import subprocess

from serve import DIRECTORY, Connection, Server, at_last, equal, finish, hbctl, make_belt, true

on = make_belt('main', '--ttl', '5m')
subprocess.run(['ifconfig', 'lo', '127.0.0.1', 'up'], check=True)
ours = os.path.dirname(os.path.abspath(__file__))


def refused(name, *options, says=''):
    """A check: hbserve refuses to start, and its message has a text."""
    done = subprocess.run(['hbserve', *options], capture_output=True, timeout=60)
    said = (done.stdout + done.stderr).decode('latin1')
    true(f'{name}: hbserve refuses to start', 0 < done.returncode < 100 and says in said,
         f'status {done.returncode}: {said}')


# The directory of the service
os.makedirs('/run/hashbelt', exist_ok=True)
server = subprocess.Popen(['hbserve', '-s', '/run/hashbelt/main.sock', '-b', 'main'])
at_last(lambda: os.path.exists('/run/hashbelt/main.sock'))
said = hbctl('doctor', status=None)
true('hbctl doctor names the processes of hbserve and their sockets',
     'serve    processes of hbserve: 1; clients connect to /run/hashbelt/main.sock' in said, said)
server.terminate()
server.wait()

# TCP
server = Server('-l', '127.0.0.1', '-p', 11211)
address = ('127.0.0.1', 11211)
server.accepts(address)
equal('a loopback address is served', 'STORED', server.connect(address).set('k', 'v'))
server.stop('loopback')
refused('an address that is not loopback, without a password', '-l', '0.0.0.0', '-p', '11211', '-b', 'main',
        says='auth')

# Passwords
passwords = f'{DIRECTORY}/auth'
with open(passwords, 'w', encoding='ascii') as file:
    file.write('alice:secret\nbob:b c:d\n')
os.chmod(passwords, 0o600)
for option in ('--auth-file', '-Y'):
    server = Server(option, passwords)
    client = server.connect()
    client.send('get k\r\n')
    equal(f'{option}: a client without a password is refused', 'CLIENT_ERROR unauthenticated\r\n',
          client.until(b'\r\n'))
    done = subprocess.run([f'{ours}/dialogue.py', '--auth', 'alice secret', server.path, f'{ours}/auth.txt'],
                          stdout=subprocess.PIPE)
    failed = '\n'.join(line for line in done.stdout.decode('latin1').splitlines() if not line.startswith('ok '))
    true(f'{option}: the dialogues of auth.txt', done.returncode == 0, failed)
    server.stop(option)
server = Server('-l', '0.0.0.0', '-p', 11211, '--auth-file', passwords)
server.accepts(address)
client = server.connect(address)
equal('any address is served with a password', 'STORED', client.set('k', 'alice secret'))
true('the log has a line about an address that is not loopback', '0.0.0.0' in server.said(), server.said())
server.stop('any address')
refused('a password file that is not there', '-s', f'{DIRECTORY}/u', '-b', 'main', '--auth-file', '/nowhere')

# Lists of keys
server = Server('--enable-dump', '--threads', 1)
client = server.connect()
client.ask('flush_all')
# No client of memcached can ask for it.
on('put', 'x' * 251, 'long')
for first in range(0, 20000, 1000):
    client.send(''.join(f'set {"k" * 60}{number} 0 0 1 noreply\r\na\r\n' for number in range(first, first + 1000)))
client.send('lru_crawler metadump all\r\n')
client.until(b'OK\r\n')
listed = client.until(b'END\r\n').splitlines()
equal('lru_crawler metadump lists each key of the belt once, and leaves out a long one', (20001, 20001),
      (len(listed), len({line.split()[0] for line in listed})))
other = server.connect()
other.send('lru_crawler mgdump all\r\n')
true('lru_crawler mgdump begins with OK', other.receive().startswith(b'OK\r\nmg '), 'another reply')
make_belt('main', '--ttl', '5m')
equal('the server answers while a client that lists keys reads nothing', 'STORED', client.set('k', 'v'))
left = other.until(b'belt main does not exist\r\n')
true('a list of keys ends by an error when the belt is destroyed', 'SERVER_ERROR ' in left and 'EN\r\n' not in left,
     left[-200:])
other.close()
equal('the server answers when a client that lists keys has gone', 'OK', client.ask('flush_all'))
client.set('new', 'v')
make_belt('main', '--ttl', '5m')
client.send('lru_crawler metadump all\r\n')
equal('the keys of a belt that was made again can be listed', 'OK\r\nEND\r\n', client.until(b'\nEND\r\n'))
server.stop('--enable-dump')

# TLS
certificates = f'{ours}/tls'
tls = ['--tls', '--tls-cert', f'{certificates}/server.pem', '--tls-key', f'{certificates}/server.key']
server = Server('-l', '127.0.0.1', '-p', 11211, '--threads', 1, *tls)
server.accepts(address)


def secure(**settings):
    """A connection with TLS."""
    context = ssl.create_default_context(cafile=f'{certificates}/ca.pem')
    if settings:
        context.load_cert_chain(**settings)
    connection = Connection(address)
    connection.socket = context.wrap_socket(connection.socket, server_hostname='localhost')
    return connection


# A record has begun, of a handshake: no event comes before its rest.
silent = Connection(address)
silent.send(b'\x16')
client = secure()


def all_sleep():
    """Whether no thread of the server runs."""
    states = []
    for path in glob.glob(f'/proc/{server.process.pid}/task/*/stat'):
        with open(path, encoding='ascii') as file:
            states.append(file.read().rpartition(')')[2].split()[0])
    return set(states) == {'S'}


equal('a client with TLS stores, while another has sent one byte', 'STORED', client.set('k', 'v' * 100000))
true('the server sleeps while that client sends no more', at_last(all_sleep), 'it runs all the time')
silent.close()
equal('a client with TLS reads',
      f'VALUE k 0 100000 {"v" * 100000} END', client.ask('get k'))
client.send('get k\r\n' * 100)
reply = 'VALUE k 0 100000\r\n' + 'v' * 100000 + '\r\nEND\r\n'
equal('a pipeline over TLS is answered', [],
      [i for i in range(100) if client.exactly(len(reply)).decode() != reply])
plain = server.connect(address)
plain.send('get k\r\n')
true('a client without TLS is not served', 'VALUE' not in plain.all())
bad = server.connect(address)
bad.send(b'\x16\x03\x01\x02\x00' + b'\x01' * 40)
bad.close()
equal('a handshake that is broken off harms no other client', 'VA 100000', client.ask('mg k v')[:9])
server.stop('TLS')
server = Server('-l', '127.0.0.1', '-p', 11211, *tls, '--tls-ca', f'{certificates}/ca.pem', '--tls-verify')
server.accepts(address)
client = secure(certfile=f'{certificates}/client.pem', keyfile=f'{certificates}/client.key')
equal('a client with a certificate is served', 'STORED', client.set('k', 'v'))
try:
    found = secure().ask('get k')
except OSError:
    found = ''
true('a client without a certificate is not served', 'VALUE' not in found, found)
server.stop('client certificates')
refused('TLS without a key', '-l', '127.0.0.1', '-p', '11211', '-b', 'main', '--tls', '--tls-cert',
        f'{certificates}/server.pem')

# Socket activation, and the state that a service manager is told
states = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
states.bind(f'{DIRECTORY}/notify')
states.settimeout(60)
passed = socket.socket(socket.AF_UNIX)
passed.bind(f'{DIRECTORY}/passed')
passed.listen()


def activate():
    """Be the process that systemd starts: the socket is descriptor 3."""
    os.dup2(passed.fileno(), 3)
    os.environ['LISTEN_PID'] = str(os.getpid())


# A program that is executed keeps the process: so LISTEN_PID is right.
launcher = ['sh', '-c', f'export LISTEN_PID=$$ LISTEN_FDS=1 NOTIFY_SOCKET={DIRECTORY}/notify; exec "$@"',
            'sh']
server = Server(unix=False, launcher=launcher, close_fds=False, preexec_fn=lambda: os.dup2(passed.fileno(),
                                                            3))
client = Connection(f'{DIRECTORY}/passed')
equal('a socket that was passed is served', 'STORED', client.set('k', 'activated'))
equal('hbctl gets that value', 'activated', on('get', 'k'))
true('the service manager is told that it is ready', b'READY=1' in states.recv(1000))
server.stop('activation')
true('the service manager is told that it stops', b'STOPPING=1' in states.recv(1000))
true('the socket that was passed is still there', os.path.exists(f'{DIRECTORY}/passed'))
finish()
