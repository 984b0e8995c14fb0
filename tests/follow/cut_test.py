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
import os
import signal
import sys
import threading
import time

from follow import Belt, Follower, PostgreSQL, Proxy, Redis, at_last, certificates, finish, new_path, result
from world import Child, hashbelt, link, make_postgresql, make_redis, now

DETECT = OFFLINE = 1        # seconds
CUT = 3.5                   # for which a connection stays cut, seconds
KEY = 'page:key'
FOUND = 10                  # values that are found before the connection is cut, and after it
PATIENCE = 0.5              # of a client for an engine that may be stopped, seconds
LISTENERS = "FROM pg_stat_activity WHERE application_name = 'hbfollow'"


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

    def __init__(self, engine, *words):
        self.engine = engine
        belt = Belt(f'cut{os.getpid()}')
        self.follower = Follower(belt, '-v', '--detect', f'{DETECT}s', '--offline', f'{OFFLINE}s',
                                 *words).wait_until(True)
        self.belt = hashbelt.open(belt.name)
        self.writing, self.filling = Side(self), Side(self)
        self.value = 0
        self.replaced = []      # (time, value): each smaller value is old since then
        self.found = []         # (time, value)
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
        return max((when - times[value] for when, value in list(self.found)
                    if value < len(times)), default=0)

    def finish(self):
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
        if self.follower.figures()['losses_total'] <= self.losses:
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


def dropped(make):
    """the network drops what comes from hbfollow and what is for it, and connects nobody"""
    engine, words = make()
    proxy = Proxy(engine.port)
    scene = Scene(engine, *(word.replace(f':{engine.port}/', f':{proxy.port}/') for word in words))
    proxy.cut()
    time.sleep(CUT)
    proxy.mend()
    return scene.finish()


def half(make):
    """the connection that brings invalidations is silent, and the other one is not"""
    engine, _ = make()
    proxy = Proxy(engine.port)
    scene = Scene(engine, f'redis://127.0.0.1:{proxy.port}/?prefix=page:')
    subscriber = [connection for connection in proxy.connections if connection.subscribes][-1]
    subscriber.passes.clear()
    time.sleep(CUT)
    subscriber.passes.set()
    return scene.finish()


def spoiled(make):
    """other bytes come into the stream of TLS"""
    engine, _ = make(tls=True)
    proxy = Proxy(engine.port)
    scene = Scene(engine, '--tls-ca', f'{certificates()}/ca.pem', f'rediss://127.0.0.1:{proxy.port}/?prefix=page:')
    for connection in proxy.connections:
        # One may have been closed.
        with contextlib.suppress(OSError):
            connection.client.sendall(os.urandom(1000))
    time.sleep(CUT)
    return scene.finish()


def end_connections(engine):
    """End the connections of hbfollow."""
    if not isinstance(engine, Redis):
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


WAYS = [
    [(killed, make_redis), (stopped, make_redis), (dropped, make_redis), (half, make_redis)],
    [(refused, make_redis), (spoiled, make_redis), (killed, make_postgresql), (dropped, make_postgresql)],
    [(stopped, make_postgresql), (refused, make_postgresql)],
]

for ways in WAYS if 'all' in sys.argv else WAYS[:2]:
    children = [Child(way, make) for way, make in ways]
    for (way, make), child in zip(ways, children):
        try:
            wrong, text = child.result()
        except EOFError:
            wrong, text = 'the process of this way has failed', 'an unknown time'
        result(f'{make.__name__[5:]}: {way.__doc__}', wrong)
        print(f'# an old value was read for {text}', flush=True)
finish()
