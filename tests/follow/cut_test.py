#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""cut_test.py [all] - how long a value older than the engine's stays readable when the connection is cut.

A writer counts a key up at the engine, and a reader fills it from there, both by a way that is not cut, if the
engine runs at all. Another reader polls the belt: the age of a value that it finds is the time since the write
that has replaced it had ended. The oldest age has to be below the sum of --detect, --offline and the delay:
the oldest age before the cut, and the longest time for which a sleeping thread of this test was late.

The ways run side by side, each in a process with an engine, a belt and an hbfollow of its own. With "all" there
are more ways for PostgreSQL.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time


from follow import (HERE, NOBODY, Belt, Follower, PostgreSQL, Process, Redis, at_last, certificates, finish, hbctl,
                    new_path, result)
from world import Child, hashbelt, link, make_postgresql, make_redis, now, words_at

DETECT = OFFLINE = 1        # seconds
CUT = 3.5                   # for which a connection stays cut, seconds
KEY = 'page:key'
FOUND = 10                  # values that are found before the connection is cut, and after it
PATIENCE = 0.5              # of a client for an engine that may be stopped, seconds
IP = f'{HERE}/../../ip'       # in the guest, whose own one knows no pairs of devices
CLONE_NEWNET = 0x40000000
LISTENERS = "FROM pg_stat_activity WHERE application_name = 'hbfollow'"


def run(*words):
    """Run a program. Returns what it prints."""
    return subprocess.run([*map(str, words)], check=True, stdout=subprocess.PIPE, text=True).stdout


def family(pid):
    """A process and its children."""
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
        return [pid, *map(int, file.read().split())]


class Clock(threading.Thread):
    """Calls a function again and again, with pauses. Notes how late the pauses end."""

    def __init__(self, pause, function):
        super().__init__(daemon=True)
        self.pause = pause
        self.function = function
        self.latest = 0
        self.ended = False
        self.error = None
        self.start()

    def run(self):
        while not self.ended:
            start = now()
            time.sleep(self.pause)
            self.latest = max(self.latest, now() - start - self.pause)
            try:
                self.function()
            except Exception as error:  # for the test
                self.error = error
                return

    def end(self):
        """End it. Raises what the function has raised."""
        self.ended = True
        self.join()
        if self.error:
            raise self.error


class Side:
    """The engine of a scene as its writer or its reader uses it: it may be away."""

    def __init__(self, scene):
        self.scene = scene
        self.link = None

    def attempt(self, function):
        """The result of a function of a link, or None."""
        try:
            self.link = self.link or link(self.scene.engine, PATIENCE)
            return function(self.link)
        except Exception:  # of either client
            if self.link:
                self.link.close()
            self.link = None
            return None


class Scene:
    """A belt that is filled, and polled, while an engine counts up and hbfollow follows it."""

    def __init__(self, engine, *words, **more):
        self.engine = engine
        self.name = Belt(f'cut{os.getpid()}')
        self.words = ('-v', '--detect', f'{DETECT}s', '--offline', f'{OFFLINE}s', *words)
        self.follower = Follower(self.name, *self.words, **more).wait_until(True)
        self.belt = hashbelt.open(self.name.name)
        self.writing, self.filling = Side(self), Side(self)
        self.value = 0
        self.replaced = []      # (time, value): each smaller value is old since then
        self.found = []         # (time, value)
        self.since = 0          # no age is counted before that time
        self.clocks = [Clock(0.1, self.write), Clock(0.1, self.fill), Clock(0.04, self.poll)]
        time.sleep(1)
        if not at_last(lambda: len(self.found) >= FOUND):
            raise RuntimeError('no value is found in the belt')
        self.delay = max(0, self.oldest())
        self.losses = at_last(self.before)['losses_total']

    def before(self):
        """The figures of hbfollow, if it follows: on a slow machine it may have lost the engine."""
        figures = self.follower.figures()
        return figures if figures['state'] else None

    def write(self):
        self.value += 1
        value = self.value
        if self.writing.attempt(lambda engine: engine.raise_to(KEY, value) or True):
            self.replaced.append((now(), value))

    def fill(self):
        def fetch():
            found = self.filling.attempt(lambda engine: engine.read(KEY))
            if found is None:
                raise LookupError
            return found

        try:
            self.belt.get_or_set(KEY, fetch, timeout=0)
        except (LookupError, hashbelt.FillTimeout):
            pass

    def poll(self):
        start = now()
        found = self.belt.get(KEY)
        if found not in (None, b'-'):
            self.found.append((start, int(found)))

    def oldest(self):
        """The oldest age of a value that was found, seconds."""
        times = []      # by value: when a greater one was written
        for when, value in list(self.replaced):
            times += [when] * (value - len(times))
        return max((when - max(times[value], self.since) for when, value in list(self.found)
                    if value < len(times)), default=0)

    def finish(self, must_lose=True):
        """Wait until hbfollow follows again, and end all. Returns what is wrong, and a remark."""
        wrong = []
        self.follower.wait_until(True)
        before = len(self.found)
        if not at_last(lambda: len(self.found) >= before + FOUND):
            wrong.append('no value is found in the belt after the cut')
        for clock in self.clocks:
            clock.end()
        oldest = max(0, self.oldest())
        late = max(clock.latest for clock in self.clocks)
        bound = DETECT + OFFLINE + self.delay + late
        if oldest > bound:
            wrong.append(f'a value was found {oldest:.3f} s after the write that has replaced it, '
                         f'the bound is {bound:.3f} s')
        if must_lose and self.follower.figures()['losses_total'] <= self.losses:
            wrong.append('hbfollow has not noticed that the engine is lost')
        right = link(self.engine).read(KEY)
        if not at_last(lambda: self.belt.get(KEY) in (None, right)):
            wrong.append(f'the belt has {self.belt.get(KEY)}, and not {right}, in the end')
        self.follower.signal(signal.SIGTERM)
        status = self.follower.wait()
        if status:
            wrong.append(f'hbfollow ends with status {status}')
        if wrong:
            wrong.append(self.follower.said())
        return '\n'.join(wrong), (f'{oldest:.3f} s, at most {bound:.3f} s (before the cut {self.delay:.3f} s, '
                                  f'late {late:.3f} s)')


def killed(make):
    """the server is killed, and started again"""
    engine, words = make()
    scene = Scene(engine, *words)
    for pid in family(engine.process.pid):
        # The processes of a PostgreSQL that was killed end by themselves, too.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    engine.process.wait()
    time.sleep(CUT)
    scene.engine = engine.again()
    return scene.finish()


def stopped(make):
    """the process that serves hbfollow is stopped by SIGSTOP, and goes on"""
    engine, words = make()
    scene = Scene(engine, *words)
    pid = engine.process.pid
    if make is make_postgresql:
        # Of PostgreSQL it is a process of its own: others go on to write.
        pid = engine.run(f'SELECT pid {LISTENERS}')[0][0]
    os.kill(pid, signal.SIGSTOP)
    time.sleep(CUT)
    os.kill(pid, signal.SIGCONT)
    return scene.finish()


class Network:
    """The devices between this network namespace and that of a process."""

    def __init__(self, pid):
        self.inside = ['nsenter', '-t', pid, '-n', IP]
        number = pid % 250
        self.here, self.device = f'10.77.{number}.1', f'here{number}'
        there = f'10.77.{number}.2'
        run(IP, 'link', 'add', self.device, 'type', 'veth', 'peer', 'name', 'there', 'netns', pid)
        run(IP, 'address', 'add', f'{self.here}/24', 'dev', self.device)
        run(IP, 'link', 'set', self.device, 'up')
        run(*self.inside, 'address', 'add', f'{there}/24', 'dev', 'there')
        run(*self.inside, 'link', 'set', 'there', 'up')
        # Packets to an address that no device has are dropped, and nobody is told.
        self.silence = ['neighbour', 'replace', there, 'lladdr', '02:00:00:00:00:99', 'dev', self.device, 'nud',
                        'permanent']
        self.speech = ['neighbour', 'delete', there, 'dev', self.device]

    def drop(self):
        run(IP, *self.silence)

    def restore(self):
        run(IP, *self.speech)


def enter(namespace):
    """Enter a network namespace."""
    fd = os.open(namespace, os.O_RDONLY)
    if ctypes.CDLL(None).setns(fd, CLONE_NEWNET):
        raise OSError('setns')
    os.close(fd)


def dropped(make):
    """all packets to hbfollow are dropped"""
    if make is make_redis:
        engine, _ = make('--bind', '0.0.0.0', '--protected-mode', 'no')
    else:
        data = PostgreSQL._make_data()
        with open(f'{data}/pg_hba.conf', 'a', encoding='ascii') as file:
            file.write('host all all 10.77.0.0/16 trust\n')
        engine, _ = make('-c', 'listen_addresses=*', data=data)
    # A process makes the namespace before hbfollow is there, which needs the address of this end.
    holder = Process(['unshare', '-n', 'sleep', '1000'])
    namespace = f'/proc/{holder.process.pid}/ns/net'
    at_last(lambda: os.readlink(namespace) != os.readlink('/proc/self/ns/net'))
    network = Network(holder.process.pid)
    scene = Scene(engine, *words_at(make, engine, network.here), preexec_fn=lambda: enter(namespace))
    network.drop()
    time.sleep(CUT)
    network.restore()
    return scene.finish()


class Proxy(threading.Thread):
    """Passes bytes between clients and a server. It can freeze a connection, or put other bytes into it."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.server = ('127.0.0.1', port)
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.clients = []
        self.frozen = set()     # clients from and to which nothing is passed
        self.subscriber = None  # the last client that has subscribed
        self.start()

    def run(self):
        while True:
            client = self.listener.accept()[0]
            server = socket.create_connection(self.server)
            self.clients.append(client)
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self.forward, args=(source, target, client), daemon=True).start()

    def forward(self, source, target, client):
        try:
            data = source.recv(65536)
            while data:
                if b'SUBSCRIBE' in data:
                    self.subscriber = client
                while client in self.frozen:
                    time.sleep(0.05)
                target.sendall(data)
                data = source.recv(65536)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def spoil(self):
        """Send bytes that are no part of the stream to each client."""
        for client in self.clients:
            try:
                client.sendall(os.urandom(1000))
            except OSError:
                pass


def half(make):
    """the connection that brings invalidations is silent, and the other one is not"""
    engine, _ = make()
    proxy = Proxy(engine.port)
    scene = Scene(engine, f'redis://127.0.0.1:{proxy.port}/?prefix=page:')
    proxy.frozen.add(proxy.subscriber)
    time.sleep(CUT)
    proxy.frozen.clear()
    return scene.finish()


class Certificate:
    """The certificate of a server: that of an authority which hbfollow trusts, at first."""

    def __init__(self):
        self.path = new_path()
        os.mkdir(self.path, 0o755)
        self.use('server')

    def use(self, name):
        for end in ('pem', 'key'):
            path = f'{self.path}/it.{end}'
            shutil.copy2(f'{certificates()}/{name}.{end}', path)
            shutil.chown(path, NOBODY, NOBODY)
            os.chmod(path, 0o600)


def spoiled(make):
    """other bytes come into the stream of TLS"""
    engine, _ = make(tls=True)
    proxy = Proxy(engine.port)
    scene = Scene(engine, '--tls-ca', f'{certificates()}/ca.pem', f'rediss://127.0.0.1:{proxy.port}/?prefix=page:')
    proxy.spoil()
    time.sleep(CUT)
    return scene.finish()


def certified(make):
    """the certificate of the server becomes that of another authority, and the connections end"""
    certificate = Certificate()
    pem, key = f'{certificate.path}/it.pem', f'{certificate.path}/it.key'
    if make is make_redis:
        engine, _ = make('--tls-cert-file', pem, '--tls-key-file', key, tls=True)
        words = ('--tls-ca', f'{certificates()}/ca.pem', f'rediss://127.0.0.1:{engine.port}/?prefix=page:')
    else:
        engine, _ = make('-c', 'ssl=on', '-c', f'ssl_cert_file={pem}', '-c', f'ssl_key_file={key}')
        words = ('--channel', 'page',
                 engine.url(f'?sslmode=verify-full&sslrootcert={certificates()}/ca.pem'))

    def use(name):
        certificate.use(name)
        if make is make_redis:
            engine.client.config_set('tls-cert-file', pem, 'tls-key-file', key)
        end_connections(engine)

    scene = Scene(engine, *words)
    use('other')
    time.sleep(CUT)
    use('server')
    return scene.finish()


def end_connections(engine):
    """Let the server read its files, and end the connections of hbfollow."""
    if not isinstance(engine, Redis):
        engine.run('SELECT pg_reload_conf()')
        engine.run(f'SELECT pg_terminate_backend(pid) {LISTENERS}')
        return
    for client in engine.client.client_list():
        if client['name'] == 'hbfollow':
            engine.client.client_kill_filter(_id=client['id'])


def refused(make):
    """the password of the server becomes another, and the connections end"""
    path = new_path()

    def use_password(password):
        with open(path, 'w', encoding='ascii') as file:
            os.chmod(path, 0o600)
            file.write(f'{password}\n')

    use_password('old')
    if make is make_redis:
        engine, _ = make()
        # The links of the test have no password.
        engine.client.execute_command('ACL', 'SETUSER', 'follower', 'on', '>old', '~*', '&*', '+@all')
        scene = Scene(engine, '--user', 'follower', '--password-file', path, engine.url('?prefix=page:'))
        engine.client.execute_command('ACL', 'SETUSER', 'follower', 'resetpass', '>new')
    else:
        data = PostgreSQL._make_data()
        with open(f'{data}/pg_hba.conf', encoding='ascii') as file:
            others = file.read()
        with open(f'{data}/pg_hba.conf', 'w', encoding='ascii') as file:
            file.write(f'host all follower 127.0.0.1/32 scram-sha-256\n{others}')
        engine, _ = make(data=data)
        engine.run("CREATE ROLE follower LOGIN PASSWORD 'old'")
        scene = Scene(engine, '--password-file', path, '--channel', 'page', engine.url(user='follower'))
        engine.run("ALTER ROLE follower PASSWORD 'new'")
    end_connections(engine)
    time.sleep(CUT)
    use_password('new')
    return scene.finish()


def paused(make):
    """hbfollow itself is stopped by SIGSTOP, and goes on: counted since then"""
    engine, words = make()
    scene = Scene(engine, *words)
    scene.follower.signal(signal.SIGSTOP)
    time.sleep(CUT)
    scene.since = now()
    scene.follower.signal(signal.SIGCONT)
    return scene.finish()


def died(make):
    """hbfollow is killed; its unit clears the belt, and starts it again: counted since it has begun"""
    engine, words = make()
    scene = Scene(engine, *words)
    scene.follower.kill()
    hbctl('-b', scene.name.name, 'clear')
    time.sleep(CUT)
    scene.follower = Follower(scene.name, *scene.words)
    at_last(scene.follower.figures)
    scene.since = now()
    return scene.finish(must_lose=False)


WAYS = [
    [(killed, make_redis), (stopped, make_redis), (dropped, make_redis), (half, make_redis)],
    [(refused, make_redis), (spoiled, make_redis), (certified, make_redis), (died, make_redis)],
    [(paused, make_redis), (killed, make_postgresql), (dropped, make_postgresql)],
    [(stopped, make_postgresql), (refused, make_postgresql), (certified, make_postgresql)],
    [(paused, make_postgresql), (died, make_postgresql)],
]

run('insmod', 'veth.ko')
for ways in WAYS if 'all' in sys.argv else WAYS[:3]:
    children = [Child(way, make) for way, make in ways]
    for (way, make), child in zip(ways, children):
        try:
            wrong, text = child.result()
        except RuntimeError as error:
            wrong, text = error, 'an unknown time'
        result(f'{make.__name__[5:]}: {way.__doc__}', wrong)
        print(f'# an old value was read for {text}', flush=True)
finish()
