# SPDX-License-Identifier: GPL-2.0-only
"""Used by the tests of hbserve: checks, belts, servers and connections.

A check is one line of TAP. The time of each belt is halted and moved by hand, so what is left of a
time-to-live is exact.
"""

import atexit
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

PATIENCE = 120      # a server that is silent for so many seconds has failed
DIRECTORY = tempfile.mkdtemp()
os.environ['PATH'] += ':/usr/bin'

_checks = _failures = 0
_ended = False


def _place():
    """The line of the test that made a check."""
    frame = sys._getframe()
    while frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f'{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}'


def result(name, wrong):
    """A check passes if WRONG, which describes a failure, is empty."""
    global _checks, _failures
    _checks += 1
    if not wrong:
        print(f'ok {_checks} - {name}', flush=True)
        return
    _failures += 1
    print(f'not ok {_checks} - {name}\n# {_place()}:')
    for line in str(wrong).splitlines():
        print(f'#   {line}')
    sys.stdout.flush()


def equal(name, expected, found):
    """A check: FOUND is EXPECTED."""
    result(name, '' if expected == found else f'expected {expected!r:.2000}\nfound    {found!r:.2000}')


def true(name, found, wrong=''):
    """A check: FOUND is true."""
    result(name, '' if found else wrong or 'it is false')


def at_last(condition):
    """Wait until a function returns something true; None if it never does."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    return None


def finish():
    """The last call of each test."""
    global _ended
    _ended = True
    print(f'1..{_checks}')
    sys.exit(_failures > 0)


def _leave():
    for server in list(Server.running):
        server.process.kill()
    if not _ended:
        print('Bail out! ended early', flush=True)


atexit.register(_leave)


def hbctl(*words, status=0, stdin=None):
    """Run hbctl. Returns what it prints, without a newline at the end."""
    done = subprocess.run(['hbctl', *map(str, words)], input=stdin, capture_output=True)
    if status is not None and done.returncode != status:
        raise RuntimeError(f'hbctl {words}: status {done.returncode}: {done.stderr.decode()}')
    return done.stdout.decode('latin1').removesuffix('\n')


def make_belt(name, *options):
    """Make a belt whose time stands still."""
    hbctl('destroy', name, status=None)
    hbctl('create', name, *options)
    hbctl('-b', name, 'halt')
    return lambda *words, **more: hbctl('-b', name, *words, **more)


class Connection:
    """A connection with a server."""

    def __init__(self, address):
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
        else:
            self.socket = socket.socket(socket.AF_INET)
        # A socket with a timeout would not wait for a server that accepts slowly.
        self.socket.connect(address)
        self.socket.settimeout(PATIENCE)
        self.held = b''

    def send(self, data):
        self.socket.sendall(data.encode('latin1') if isinstance(data, str) else data)

    def receive(self):
        """The bytes that come next; empty if the server has closed the connection."""
        held, self.held = self.held, b''
        try:
            return held or self.socket.recv(1 << 20)
        except ConnectionResetError:
            return b''

    def until(self, end):
        """Read up to END, which has to come."""
        found = b''
        while end not in found:
            more = self.receive()
            if not more:
                return (found + b'(closed)').decode('latin1')
            found += more
        at = found.index(end) + len(end)
        self.held = found[at:]
        return found[:at].decode('latin1')

    def exactly(self, length):
        """Read that many bytes, or as many as come."""
        found = bytearray()
        while len(found) < length:
            more = self.receive()
            if not more:
                break
            found += more
        self.held = bytes(found[length:])
        return bytes(found[:length])

    def all(self):
        """Read until the server closes the connection."""
        found = bytearray()
        while True:
            more = self.receive()
            if not more:
                return found.decode('latin1')
            found += more

    def ask(self, *lines):
        """Send lines. Returns the lines of the reply, separated by blanks."""
        self.send(''.join(line + '\r\n' for line in lines) + 'mn\r\n')
        reply = self.until(b'MN\r\n')
        return reply.removesuffix('MN\r\n').replace('\r\n', ' ').removesuffix(' ')

    def set(self, key, value, seconds=0, flags=0):
        return self.ask(f'set {key} {flags} {seconds} {len(value)}', value)

    def drained(self):
        """Wait until the server has read all that was sent, on a unix socket."""
        unread = struct.pack('i', 0)
        return at_last(lambda: fcntl.ioctl(self.socket, termios.TIOCOUTQ, unread) == unread)

    def close(self):
        self.socket.close()


class Server:
    """hbserve, on a unix socket and, with a port, on TCP. It has to end with 0. PROGRAM is another server with the
    same options, or redis-server; without a BELT for memcached."""
    running = set()
    count = 0

    def __init__(self, *options, belt='main', unix=True, launcher=(), program='hbserve', threads=2, **more):
        Server.count += 1
        self.path = f'{DIRECTORY}/{Server.count}.sock'
        self.log = f'{DIRECTORY}/{Server.count}.log'
        words = [*launcher, program, *(['-s', self.path] if unix else []), *(['-b', belt] if belt else []),
                 *(['-t', str(threads)] if threads else [])]
        if program == 'redis-server':
            words = [program, '--port', '0', '--unixsocket', self.path, '--save', '', '--dir', DIRECTORY]
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen([*words, *map(str, options)], stdout=log, stderr=log, **more)
        Server.running.add(self)
        if unix and not self.accepts(self.path):
            raise RuntimeError(f'the server does not accept connections: {self.said()}')

    def accepts(self, address):
        """Wait until it accepts connections at an address."""
        def try_it():
            if self.process.poll() is not None:
                raise RuntimeError(f'hbserve ends with {self.process.returncode}: {self.said()}')
            try:
                Connection(address).close()
            except OSError:
                return False
            return True
        return at_last(try_it)

    def connect(self, address=None):
        return Connection(address or self.path)

    def said(self):
        """The lines of its log."""
        with open(self.log, encoding='latin1') as log:
            return log.read()

    def memory(self):
        """Kilobytes of its memory that are in use."""
        with open(f'/proc/{self.process.pid}/status', encoding='ascii') as status:
            return int(next(line.split()[1] for line in status if line.startswith('VmRSS')))

    def wait(self):
        """Wait for its end. Returns its status."""
        Server.running.discard(self)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return 'still runs'

    def stop(self, name, number=signal.SIGTERM):
        """A check: hbserve ends in good order after a signal."""
        self.process.send_signal(number)
        status = self.wait()
        said = self.said()
        bad = status or 'Sanitizer' in said or 'runtime error' in said
        result(f'{name}: hbserve ends with status 0, and its sanitizers find nothing',
               f'status {status}:\n{said}' if bad else '')

    def kill(self):
        self.process.kill()
        self.wait()


def entry(on, key):
    """The fields that hbctl prints of an entry of a belt; empty if it is not there."""
    told = json.loads(on('has', key, '--json', status=None))
    return told if told['present'] else {}
