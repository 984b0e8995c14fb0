# SPDX-License-Identifier: GPL-2.0-only
"""Used by the tests of hbfollow: belts, engines and followers.

With the word "fake", a test runs on this machine: hbfollow-fake takes a directory for the belt
(fake_belt.c). Else it needs the module.
"""

import atexit
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'serve'))
from serve import DIRECTORY, PATIENCE, at_last, equal, finish, hbctl, result, true  # noqa: E402,F401

FAKE = 'fake' in sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
NOBODY = 65534
# Debian has one version in each release.
POSTGRESQL = max(glob.glob('/usr/lib/postgresql/*/bin'), default='')
CLUSTER = '/usr/share/store'        # in the guest: a database that initdb has made
HOST = '127.0.0.1'

_count = 0
_running = []

# Other users go through it to their database and their sockets.
os.chmod(DIRECTORY, 0o755)
if not FAKE:
    subprocess.run(['ifconfig', 'lo', HOST, 'up'], check=True)


@atexit.register
def _leave():
    for process in _running:
        process.kill()


def new_path(suffix=''):
    """A path at which nothing is."""
    global _count
    _count += 1
    return f'{DIRECTORY}/{_count}{suffix}'


PORTS = 100
_ports = iter(())
_guards = []


def take_ports(child=0):
    """Ports for this process. @child: which child of the test it is.

    Without a guest other tests run beside. So each process has a block of ports from which the kernel takes none for
    connections, and the block 10000 above it, for the nodes of a cluster. It holds the first port of the block.
    """
    global _ports
    first = 7000 + PORTS * child
    if FAKE:
        guard = socket.socket()
        _guards.append(guard)
        for block in range(100):
            first = 10000 + (os.getpid() + block) % 100 * PORTS
            try:
                guard.bind((HOST, first))
                break
            except OSError:
                pass
        else:
            raise RuntimeError('no ports are free')
    _ports = iter(range(first + 1, first + PORTS))


take_ports()


def new_port():
    """A port that no server of this test has had."""
    return next(_ports)


def certificates():
    """The directory of certify.sh."""
    path = f'{HERE}/tls'
    if FAKE:
        path = f'{DIRECTORY}/tls'
        if not os.path.exists(path):
            subprocess.run([f'{HERE}/certify.sh', path], check=True)
    return path


class Process:
    """A program that writes a log."""

    def __init__(self, words, **more):
        self.log = new_path('.log')
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen([*map(str, words)], stdout=log, stderr=log, **more)
        _running.append(self.process)

    def said(self):
        """The lines of its log."""
        with open(self.log, encoding='latin1') as log:
            return log.read()

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        """Wait for its end. Returns its status."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return 'still runs'

    def kill(self):
        self.process.kill()
        self.process.wait()


class Belt:
    """A belt, empty at first."""

    def __init__(self, name='pages'):
        self.name = name
        self.path = new_path('.belt')
        self.make()

    def make(self):
        if FAKE:
            # The number of a directory that is removed may come back.
            os.mkdir(f'{self.path}.{time.monotonic_ns()}')
            os.mkdir(f'{self.path}.new')
            os.rename(f'{self.path}.new', self.path)
        else:
            hbctl('destroy', self.name, status=None)
            hbctl('create', self.name, '--ttl', '1h')

    def destroy(self):
        if FAKE:
            shutil.rmtree(self.path)
        else:
            hbctl('destroy', self.name)

    def put(self, *keys):
        """Store entries, whatever the belt has."""
        for key in keys:
            if FAKE:
                with open(self._file(key), 'wb'):
                    pass
            else:
                hbctl('-b', self.name, 'put', '--', key, 'value')

    def _file(self, key):
        return f'{self.path}/{key.encode().hex()}'

    def has(self, key):
        if FAKE:
            return os.path.exists(self._file(key))
        return subprocess.run(['hbctl', '-b', self.name, 'has', '--', key], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def removes(self, name, keys, kept, change):
        """A check: CHANGE, a function, removes these keys from the belt, and leaves others."""
        self.put(*keys, *kept)
        change()
        at_last(lambda: not self.keys(*keys))
        equal(f'{name}: the changed keys are removed, and no others', [[], list(kept)],
              [self.keys(*keys), self.keys(*kept)])

    def keys(self, *of):
        """Those of these keys that it has."""
        return [key for key in of if self.has(key)]

    def fail(self, operation, number):
        """Let "remove" or "clear" fail with an error; 0: no more. Fake alone."""
        path = f'{self.path}.{operation}'
        if number:
            with open(f'{path}.new', 'w', encoding='ascii') as file:
                file.write(str(number))
            os.rename(f'{path}.new', path)
        else:
            os.unlink(path)


class Follower(Process):
    """hbfollow. It has to end with 0."""

    def __init__(self, belt, *words, environment=None, program='', **more):
        self.metrics = new_path('.prom')
        self.belt = belt
        program = program or ('hbfollow-fake' if FAKE else 'hbfollow')
        settings = {**os.environ, 'FAKE_BELT': belt.path, **(environment or {})}
        # A slow machine is no loss.
        detect = [] if '--detect' in words else ['--detect', '1h']
        super().__init__([program, '-b', belt.name, '--metrics', self.metrics, *detect, *words], env=settings,
                         **more)

    def figures(self):
        """Its metrics, by their names without "hbfollow_"; empty before there are any."""
        try:
            with open(self.metrics, encoding='ascii') as file:
                lines = [line for line in file if not line.startswith('#')]
        except FileNotFoundError:
            return {}
        return {line.split('{')[0].removeprefix('hbfollow_'): float(line.split()[-1]) for line in lines}

    def follows(self):
        return self.figures().get('state') == 1

    def wait_until(self, follows):
        """Wait until it follows, or until it does not."""
        def try_it():
            if self.process.poll() is not None:
                raise RuntimeError(f'hbfollow ends with {self.process.returncode}: {self.said()}')
            return self.figures() and self.follows() == follows
        if not at_last(try_it):
            raise RuntimeError(f'hbfollow does not come to {follows}: {self.said()}')
        return self

    def stop(self, name, number=signal.SIGTERM, status=0):
        """A check: hbfollow ends in good order after a signal, or by itself."""
        if number:
            self.signal(number)
        found = self.wait()
        said = self.said()
        bad = found != status or 'Sanitizer' in said or 'runtime error' in said
        result(f'{name}: hbfollow ends with status {status}, and its sanitizers find nothing',
               f'status {found}:\n{said}' if bad else '')


class Redis(Process):
    """redis-server, at a port of HOST and at a unix socket."""

    def __init__(self, *words, port=None, tls=False):
        self.port = port or new_port()
        self.path = new_path('.sock')
        self.words = words
        ports = ['--port', self.port]
        if tls:
            ours = certificates()
            ports = ['--port', 0, '--tls-port', self.port, '--tls-cert-file', f'{ours}/server.pem',
                     '--tls-key-file', f'{ours}/server.key', '--tls-ca-cert-file', f'{ours}/ca.pem',
                     '--tls-auth-clients', 'optional']
        super().__init__(['redis-server', *ports, '--bind', HOST, '--unixsocket', self.path, '--save', '',
                          '--dir', DIRECTORY, '--dbfilename', f'{self.port}.rdb', '--enable-debug-command', 'yes',
                          *words])
        self.client = self.connect()

    def connect(self, **more):
        """A client, when the server answers."""
        import redis
        client = redis.Redis(unix_socket_path=self.path, socket_timeout=PATIENCE, **more)

        def try_it():
            try:
                return client.ping()
            except redis.AuthenticationError:
                return True
            except redis.RedisError:
                return False
        if not at_last(try_it):
            raise RuntimeError(f'redis-server does not answer: {self.said()}')
        return client

    def url(self, query='', user=''):
        return f'redis://{user}{HOST}:{self.port}/{query}'

    def again(self):
        """The server anew, at the same port."""
        return Redis(*self.words, port=self.port)


class PostgreSQL(Process):
    """postgres, at a port of HOST and at a unix socket, with a database of its own."""

    def __init__(self, *words, port=None, data=None):
        self.port = port or new_port()
        self.data = data or self._make_data()
        self.words = words
        super().__init__([f'{POSTGRESQL}/postgres', '-D', self.data, '-p', self.port, '-k', self.data,
                          '-c', f'listen_addresses={HOST}', '-c', 'fsync=off', '-c', 'max_connections=20',
                          '-c', 'shared_buffers=16MB', *words], user=NOBODY, group=NOBODY, extra_groups=[])
        self.client = self.connect()

    @staticmethod
    def _make_data():
        data = new_path('.data')
        if os.path.exists(CLUSTER):
            shutil.copytree(CLUSTER, data)
        else:
            os.mkdir(data)
            os.chown(data, NOBODY, NOBODY)
            subprocess.run([f'{POSTGRESQL}/initdb', '-D', data, '--no-sync', '--encoding=UTF8', '--no-locale',
                            '--auth=trust'], user=NOBODY, group=NOBODY, extra_groups=[], check=True,
                           stdout=subprocess.DEVNULL)
        for directory, names, files in os.walk(data):
            for path in (directory, *(f'{directory}/{file}' for file in files)):
                os.chown(path, NOBODY, NOBODY)
        os.chmod(data, 0o700)
        return data

    def connect(self, database='postgres'):
        """A client that commits each statement, when the server answers."""
        import psycopg2

        def try_it():
            try:
                return psycopg2.connect(host=HOST, port=self.port, user='nobody', dbname=database)
            except psycopg2.OperationalError:
                return None
        connection = at_last(try_it)
        if not connection:
            raise RuntimeError(f'postgres does not answer: {self.said()}')
        connection.autocommit = True
        return connection

    def run(self, statement, *values):
        """Run a statement. Returns its rows, if it has any."""
        with self.client.cursor() as cursor:
            # Without values, a % stands for itself.
            cursor.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else None

    def url(self, query='', user='nobody'):
        return f'postgresql://{user}@{HOST}:{self.port}/postgres{query}'

    def again(self):
        """The server anew, with the same database, at the same port."""
        return PostgreSQL(*self.words, port=self.port, data=self.data)


class Pool(Process):
    """pgbouncer, at a port of HOST: few sessions of a PostgreSQL for many clients."""

    def __init__(self, server, mode):
        self.port = new_port()
        self._file = new_path('.ini')
        self._server = server
        self.set_mode(mode)
        super().__init__(['pgbouncer', '-u', 'nobody', self._file])
        if not at_last(self._answers):
            raise RuntimeError(f'pgbouncer does not answer: {self.said()}')

    def set_mode(self, mode):
        """Write its configuration; a running pool reads it when it gets SIGHUP."""
        with open(self._file, 'w', encoding='ascii') as file:
            file.write(f"""[databases]
* = host={HOST} port={self._server.port} user=nobody
[pgbouncer]
listen_addr = {HOST}
listen_port = {self.port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = 5
ignore_startup_parameters = extra_float_digits
""")

    def _answers(self):
        try:
            self.connect().close()
            return True
        except Exception:  # psycopg2 is imported late
            return False

    def connect(self):
        """A client that commits each statement."""
        import psycopg2
        connection = psycopg2.connect(host=HOST, port=self.port, user='nobody', dbname='postgres')
        connection.autocommit = True
        return connection

    def url(self):
        return f'postgresql://nobody@{HOST}:{self.port}/postgres'


def manual():
    """The lines of hbfollow(8)."""
    with open(f'{HERE}/../../docs/hbfollow.8', encoding='ascii') as page:
        return page.read().splitlines()


def install_functions(server):
    """Give a PostgreSQL the functions that hbfollow prints."""
    program = 'hbfollow-fake' if FAKE else 'hbfollow'
    server.run(subprocess.run([program, '--print-sql'], check=True, stdout=subprocess.PIPE, text=True).stdout)


def manual_block(first):
    """The block of hbfollow(8) that begins with these words."""
    lines = manual()
    start = next(i for i, line in enumerate(lines) if line.startswith(first))
    return '\n'.join(lines[start:lines.index('.Ed', start)])


class Proxy:
    """A way to a server that can swallow what it is given, as a network may."""

    class Connection:
        """One that it carries."""

        def __init__(self, client, server):
            self.client = client
            self.passes = threading.Event()     # what it is given; else it swallows that
            self.passes.set()
            self.subscribes = False
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

        def _carry(self, source, target):
            try:
                while data := source.recv(65536):
                    self.subscribes |= b'SUBSCRIBE' in data
                    self.passes.wait()
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)
            except OSError:
                target.close()

    def __init__(self, port):
        self.connections = []
        self._takes = threading.Event()
        self._takes.set()
        self._server = port
        # Beyond one more connection than it takes, the kernel drops what asks for one.
        self._listener = socket.create_server((HOST, 0), backlog=0)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client = self._listener.accept()[0]
            self._takes.wait()
            try:
                self.connections.append(self.Connection(client, socket.create_connection((HOST, self._server))))
            except OSError:
                client.close()

    def cut(self):
        """Swallow all that it is given, and take no connection."""
        self._takes.clear()
        for connection in self.connections:
            connection.passes.clear()

    def mend(self):
        """Pass on what it has swallowed, and all that comes."""
        for connection in self.connections:
            connection.passes.set()
        self._takes.set()
