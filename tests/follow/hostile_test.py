#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""hostile_test.py - servers that answer with nonsense, too much or nothing: hbfollow does not follow them."""

import socket
import struct
import threading
import time

from follow import DIRECTORY, HOST, PATIENCE, Belt, Follower, at_last, equal, finish, true

HELLO = b'*4\r\n$2\r\nid\r\n:7\r\n$4\r\nrole\r\n$6\r\nmaster\r\n'
INFO = b'$20\r\n# Server\r\nrun_id:abc\r\n'
ROLE = b'$11\r\nrole:master\r\n'
SUBSCRIBED = b'*3\r\n$9\r\nsubscribe\r\n$20\r\n__redis__:invalidate\r\n:1\r\n'
MESSAGE = b'*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n'
PONG = b'*2\r\n$4\r\npong\r\n$0\r\n\r\n'
MEMORY_MAX = 700 << 10      # kilobytes, with sanitizers

belt = Belt()


class Server:
    """Takes connections at a port, each in a thread of its own."""

    def __init__(self, speak):
        self._speak = speak
        self._listener = socket.create_server((HOST, 0), backlog=100)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            threading.Thread(target=self._run, args=(self._listener.accept()[0],), daemon=True).start()

    def _run(self, connection):
        try:
            with connection:
                self._speak(connection)
        except OSError:
            pass


def memory(follower):
    """The most memory that hbfollow has used, kilobytes."""
    with open(f'/proc/{follower.process.pid}/status', encoding='ascii') as status:
        return int(next(line.split()[1] for line in status if line.startswith('VmHWM')))


def refused(name, speak, reason, *words, url='redis://{}:{}'):
    """Checks: hbfollow does not follow a server that speaks so, and says why."""
    follower = Follower(belt, '--detect', '300ms', '--offline', '100ms', *words, url.format(HOST, Server(speak).port))
    true(f'{name}: it does not follow, and says why', at_last(lambda: reason in follower.said()), follower.said())
    belt.put('k')
    true(f'{name}: the belt is cleared', at_last(lambda: not belt.has('k')))
    true(f'{name}: memory is bounded', memory(follower) < MEMORY_MAX, memory(follower))
    follower.stop(name)


def says(*replies, then=None):
    """Answers to each request in turn; then THEN."""
    def speak(connection):
        for reply in replies:
            connection.recv(65536)
            connection.sendall(reply)
        if then:
            then(connection)
        while connection.recv(65536):
            pass
    return speak


def flood(start, part, count):
    """Sends much."""
    def send(connection):
        connection.sendall(start)
        for _ in range(count):
            connection.sendall(part)
    return send


def by_turns(first, second):
    """The first connection of each attempt is spoken to by FIRST, and the second by SECOND."""
    connections = []

    def speak(connection):
        connections.append(connection)
        (first if len(connections) % 2 else second)(connection)
    return speak


def first_speaks(connection):
    connection.sendall(b'+HELLO\r\n')
    connection.recv(1)


# Which of the two sees the other's words first is not known: then they are a wrong answer to HELLO.
refused('a server that speaks first', first_speaks, 'does not follow')
refused('a server that closes', lambda connection: None, 'does not follow')
refused('HTTP', says(b'HTTP/1.1 400 Bad Request\r\n\r\n'), 'make no sense')
refused('an error', says(b'-ERR unknown command \x1b[31m\r\n'), 'the server refuses: ERR unknown command ?[31m')
states = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
states.bind(f'{DIRECTORY}/notify')
states.settimeout(PATIENCE)
follower = Follower(belt, f'redis://{HOST}:' + str(Server(says(b'-ERR a\nMAINPID=1\r\n')).port),
                    environment={'NOTIFY_SOCKET': f'{DIRECTORY}/notify'})
told = ''
while 'server' not in told:
    told = states.recv(1000).decode()
# hiredis 0.14 passes an error of two lines on, and 1.2 refuses it.
true('an error with a line for the service manager: it gets no such line', told in (
    'STATUS=lost: the server refuses: ERR a?MAINPID=1',
    "STATUS=lost: the server's bytes make no sense: Bad simple string value"), told)
follower.stop('an error with a line for the service manager')
refused('a status in place of HELLO', says(b'+OK\r\n'), 'does not answer HELLO')
refused('a null in place of SUBSCRIBE', says(HELLO, INFO, b'$-1\r\n'), 'does not answer SUBSCRIBE')
refused('INFO without a number', says(HELLO, b'$1\r\nx\r\n'), 'does not answer INFO')
refused('an address of two servers', by_turns(says(HELLO, INFO, SUBSCRIBED), says(HELLO, INFO.replace(b'abc', b'xyz'))),
        'several servers')
refused('an array that is too large', says(b'*2147483647\r\n'), 'make no sense')
# A busy machine takes longer to read as much as hbfollow accepts than it waits for an answer above.
refused('a text of 512 MiB', says(then=lambda connection: (connection.recv(65536), flood(
    b'$536870912\r\n', b'x' * (1 << 20), 512)(connection))), 'more than', '--detect', '10s')
refused('a number instead of tracking', by_turns(says(HELLO, INFO, SUBSCRIBED), says(HELLO, INFO, b':1\r\n')),
        'does not answer CLIENT TRACKING')
refused('an answer without a question', by_turns(says(HELLO, INFO, SUBSCRIBED, PONG, PONG + PONG),
                                                 says(HELLO, INFO, b'+OK\r\n')), 'without being asked')
refused('a number in place of keys', by_turns(says(HELLO, INFO, SUBSCRIBED, MESSAGE + b':1\r\n'),
                                              says(HELLO, INFO, b'+OK\r\n')), 'neither keys nor an answer')
refused('a server that does not answer', lambda connection: connection.recv(65536) and time.sleep(1000),
        'does not answer')


def answers(subscriber, times):
    """Answers questions, so many times."""
    def speak(connection):
        connection.recv(65536)
        connection.sendall(HELLO)
        connection.recv(65536)
        connection.sendall(INFO)
        connection.recv(65536)
        connection.sendall(SUBSCRIBED if subscriber else b'+OK\r\n')
        for _ in range(times):
            connection.recv(65536)
            connection.sendall(PONG if subscriber else ROLE)
        connection.recv(65536)
        time.sleep(1000)
    return speak


# With threads for input and output, an answer may overtake a change that was made before its question
once = Server(by_turns(answers(True, 1), answers(False, 10000)))
follower = Follower(belt, '--offline', '100ms', f'redis://{HOST}:{once.port}')
true('a subscriber that answers one question alone is not followed', at_last(
    lambda: 'does not follow: the engine does not answer' in follower.said()), follower.said())
true('a subscriber that answers one question alone was not followed before', 'follows a' not in follower.said(),
     follower.said())
follower.stop('a subscriber that answers one question alone')

# It follows, and then one connection is silent
for name, times in (('subscriber', (3, 10000)), ('commander', (10000, 3))):
    follower = Follower(belt, '--detect', '300ms', f'redis://{HOST}:' + str(Server(by_turns(
        answers(True, times[0]), answers(False, times[1]))).port))
    true(f'a {name} that falls silent is lost', at_last(lambda: 'lost: no answer for' in follower.said()),
         follower.said())
    follower.stop(f'a {name} that falls silent')

# PostgreSQL
postgresql = 'postgresql://nobody@{}:{}/postgres?sslmode=disable'
READY = b'Z' + struct.pack('>I', 5) + b'I'
WELCOME = b'R' + struct.pack('>II', 8, 0) + b'K' + struct.pack('>III', 12, 4711, 0) + READY


def message(kind, body):
    return kind + struct.pack('>I', len(body) + 4) + body


def done(*texts):
    return b''.join(message(b'C', text + b'\0') for text in texts) + READY


OWN = message(b'A', struct.pack('>I', 4711) + b'hbfollow_4711\0\0')
LONG = message(b'A', struct.pack('>I', 1) + b'pages\0' + b'x' * 8000 + b'\0')
EMPTY = message(b'I', b'') + READY
channel = ['--channel', 'pages']
refused('PostgreSQL that closes', lambda connection: None, 'does not follow', *channel, url=postgresql)
refused('PostgreSQL that refuses LISTEN', says(WELCOME, message(b'E', b'SERROR\0C25006\0Mcannot execute\0\0') + READY),
        'the server refuses: ERROR:  cannot execute', *channel, url=postgresql)
refused('PostgreSQL with rows', says(WELCOME, message(b'T', b'\0\0') + done(b'SELECT 0')), 'the server refuses',
        *channel, url=postgresql)
refused('a pool of connections', says(WELCOME, done(b'LISTEN', b'NOTIFY'), EMPTY), 'not to a pool',
        *channel, url=postgresql)
refused('PostgreSQL that makes no sense', says(WELCOME, b'\xff' * 100000), 'does not follow', *channel, url=postgresql)
refused('PostgreSQL that does not answer LISTEN', says(WELCOME), 'does not answer', *channel, url=postgresql)
silent = Server(says(WELCOME, OWN + done(b'LISTEN', b'NOTIFY'), EMPTY, LONG + EMPTY))
follower = Follower(belt, '--detect', '300ms', *channel, postgresql.format(HOST, silent.port))
true('PostgreSQL that falls silent is lost', at_last(lambda: 'lost: no answer for' in follower.said()),
     follower.said())
equal('a payload of 8000 bytes is counted as no key', 1, at_last(lambda: follower.figures()['keys_unfit_total']))
follower.stop('PostgreSQL that falls silent')
finish()
