#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""robust.t - hbserve under limits, signals and clients that behave badly."""

import os
import resource
import signal
import socket
import threading

from serve import Connection, Server, at_last, equal, finish, make_belt, result, true

resource.setrlimit(resource.RLIMIT_NOFILE, (15000, 15000))
on = make_belt('main', '--ttl', '5m')
server = Server('-c', 14000)
client = server.connect()

# Pipelines
requests = ''.join(f'set key{i % 100} 0 0 4\r\n{i:04}\r\nget key{i % 100}\r\n' for i in range(5000))
client.send(requests)
replies = ''.join(f'STORED\r\nVALUE key{i % 100} 0 4\r\n{i:04}\r\nEND\r\n' for i in range(5000))
equal('a pipeline of 10,000 requests is answered in order', replies, client.exactly(len(replies)).decode())
client.send('incr none 1\r\nget none\r\nnonsense\r\n' * 3333 + 'mn\r\n')
equal('a pipeline of 9,999 misses and errors is answered in order',
      'NOT_FOUND\r\nEND\r\nERROR\r\n' * 3333 + 'MN\r\n',
      client.until(b'MN\r\n'))
client.ask('set n 0 0 1', '0')
client.send('incr n 1\r\n' * 10000)
equal('a pipeline of 10,000 incr counts each', ''.join(f'{i + 1}\r\n' for i in range(10000)),
      client.until(b'\r\n10000\r\n'))
client.send('mg none q\r\n' * 10000 + 'mn\r\n')
equal('a pipeline of 10,000 quiet misses has no reply', 'MN\r\n', client.until(b'MN\r\n'))

client.send('mn\r\n' * 65536)
equal('requests that fill the server\'s buffer to its end are all answered', 'MN\r\n' * 65536,
      client.exactly(4 * 65536).decode())

# Slow readers: 300 MB of replies that a client does not read
value = os.urandom(500000)
client.send(b'set large 0 0 500000\r\n' + value + b'\r\nmn\r\n')
client.until(b'MN\r\n')
before = server.memory()
slow = [server.connect() for _ in range(3)]
senders = [threading.Thread(target=one.send, args=('get large\r\n' * 200,)) for one in slow]
for sender in senders:
    sender.start()
for _ in range(200):
    client.ask('get n')
equal('while three clients do not read, another is answered', 'VALUE n 0 5 10000 END', client.ask('get n'))
grown = server.memory() - before
true('what the server holds for them is limited', grown < 100000, f'its memory has grown by {grown} KiB')
print(f'# three clients that do not read 100 MB each: {grown} KiB')
reply = b'VALUE large 0 500000\r\n' + value + b'\r\nEND\r\n'
equal('a slow reader gets all its replies', [],
      [i for i in range(200) if slow[0].exactly(len(reply)) != reply])
for one in slow:
    one.close()
for sender in senders:
    sender.join()
equal('after slow readers have closed their connections, another is answered', 'VALUE n 0 5 10000 END',
      client.ask('get n'))

# Clients that go away
for _ in range(20):
    rude = server.connect()
    rude.send('get large\r\n' * 5)
    rude.close()
for part in ('set k 0 0 10', 'set k 0 0 10\r\nabc', 'get', 'mg k v', '\x80',
             'set k 0 0 1000000\r\n' + 'x' * 70000):
    rude = server.connect()
    rude.send(part)
    rude.drained()
    rude.close()
equal('clients that close in the middle of a request or of a reply harm no other', 'VALUE n 0 5 10000 END',
      client.ask('get n'))
equal('a value of which a part was sent is not stored', 'END', client.ask('get k'))
half = server.connect()
half.send('set k 0 0 1\r\na\r\nget k\r\n')
half.socket.shutdown(socket.SHUT_WR)
equal('a client that sends no more gets its replies', 'STORED\r\nVALUE k 0 1\r\na\r\nEND\r\n', half.all())
half = server.connect()
half.send('set k 0 0 1 noreply\r\na\r\n')
half.socket.shutdown(socket.SHUT_WR)
equal('the connection of a client that sends no more, and wants no reply, is closed', '', half.all())

# Idle connections
before = server.memory()
idle = [server.connect() for _ in range(10000)]
silent = [i for i in range(0, 10000, 100) if idle[i].ask('get k') != 'VALUE k 0 1 a END']
equal('each hundredth of 10,000 connections is answered', [], silent)
grown = server.memory() - before
print(f'# 10,000 idle connections: {grown} KiB')
true('an idle connection takes less than 4 KiB', grown < 40000, f'10,000 connections take {grown} KiB')
for one in idle:
    one.close()
at_last(lambda: 'STAT curr_connections' not in client.ask('stats') or
        int(client.ask('stats').split('STAT curr_connections ')[1].split()[0]) < 20)
equal('after 10,000 connections were closed the server answers', 'VALUE k 0 1 a END', client.ask('get k'))
server.stop('10,000 connections')

# Bytes that are no request of the protocol
server = Server()
web = server.connect()
web.send('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
equal('HTTP is closed without a reply', '', web.all())
true('the log says that a client speaks HTTP', 'HTTP' in server.said(), server.said())
binary = server.connect()
binary.send(b'\x80' + bytes(23))
equal('a request of the binary protocol gets an error', b'\x81\0\0\0\0\0\0\x81', binary.exactly(8))
binary.close()
true('the log says that a client speaks the binary protocol', 'binary' in server.said(), server.said())
endless = server.connect()
try:
    endless.send('x' * 10000000)
    endless.all()
    ended = True
except (BrokenPipeError, ConnectionResetError):
    ended = True
true('a line without an end is closed, or refused', ended)
true('a line without an end takes no memory', server.memory() < 300000,
     f'{server.memory()} KiB')
server.stop('no requests')

# Limits
server = Server('-c', 50)
connections = []
refused = None
for _ in range(100):
    one = server.connect()
    try:
        one.send('mn\r\n')
        found = one.receive()
    except BrokenPipeError:
        found = b''
    if found != b'MN\r\n':
        refused = found
        break
    connections.append(one)
true('-c 50 serves 50 connections at most', 30 <= len(connections) <= 50, f'{len(connections)} are served')
true('with -c 50 another connection is told so, or closed', refused in (b'', b'ERROR Too many open connections\r\n'), refused)
connections.pop().close()


def served():
    one = server.connect()
    try:
        one.send('mn\r\n')
        return one.receive() == b'MN\r\n'
    except BrokenPipeError:
        return False
    finally:
        one.close()


true('after one was closed, another is served', at_last(served))
server.stop('-c')

server = Server('-o', 'idle_timeout=2')
client = server.connect()
equal('a connection is answered before its idle timeout', 'MN\r\n', (client.send('mn\r\n'),
                                                            client.until(b'\r\n'))[1])
equal('after its idle timeout the server closes the connection', '', client.all())
server.stop('idle timeout')


server = Server()
resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (40, 40))
crowd = [server.connect() for _ in range(100)]
for one in crowd:
    one.send('mn\r\n')
answered = 0
for one in crowd:       # each that is closed makes room for one that waits
    answered += one.receive() == b'MN\r\n'
    one.close()
equal('with files for a few connections only, 100 are served one after the other', 100, answered)
client = server.connect()
equal('with files for a few connections only, a connection is served after 100 others', '', client.ask())
server.stop('few files')

# Signals
server = Server()
client = server.connect()
idle = server.connect()
client.send('flush_all\r\n')
client.until(b'OK\r\n')
client.send('set k 0 0 1\r\na\r\nget k\r\n' * 500)
client.drained()
server.process.send_signal(signal.SIGTERM)
equal('requests that were read before SIGTERM are answered, and then the connection is closed',
      'STORED\r\nVALUE k 0 1\r\na\r\nEND\r\n' * 500, client.all())
equal('an idle connection is closed', '', idle.all())
equal('after SIGTERM hbserve ends with status 0', 0, server.wait())
equal('after SIGTERM the log is empty', '', server.said())
true('it has removed its socket', not os.path.exists(server.path))

server = Server()
client = server.connect()
client.ask('flush_all')
stored = [0, 0, 0]


def load(number):
    """Store values until the connection ends, and remember the last that was acknowledged."""
    connection = Connection(server.path)
    try:
        while connection.set(f'{number}:{stored[number] + 1}', 'x') == 'STORED':
            stored[number] += 1
    except OSError:
        pass


loads = [threading.Thread(target=load, args=(i,)) for i in range(3)]
for one in loads:
    one.start()
at_last(lambda: min(stored) > 50)
server.kill()
for one in loads:
    one.join()
equal('after SIGKILL a client sees that the connection is closed', '', client.all())
server = Server()
client = server.connect()
missing = [f'{i}:{j}' for i in range(3) for j in range(1,
                                                       stored[i] + 1) if client.ask(f'get {i}:{j}') == 'END']
equal('after SIGKILL under load all that was acknowledged is there', [], missing)
print(f'# {sum(stored)} values')
server.stop('after SIGKILL')

# Shutdown
server = Server('-A')
client = server.connect()
client.send('shutdown\r\n')
client.all()
equal('with -A the command shutdown ends hbserve with 0', 0, server.wait())
finish()
