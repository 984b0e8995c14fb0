# SPDX-License-Identifier: GPL-2.0-only
"""Used by history_test.py and cut_test.py: engines whose keys are numbered writes, and processes of a test.

The value of a key is the number of a write, in decimal. A deleted key has no value; a belt keeps b'-' for it.
"""

import multiprocessing
import os
import sys
import time

import follow
from follow import PATIENCE, PostgreSQL, Redis

sys.path.insert(0, os.path.join(follow.HERE, '..', '..', 'bindings', 'python'))
import hashbelt  # noqa: E402,F401

NONE = b'-'


def now():
    """The time in seconds, the same for all processes."""
    return time.monotonic()


class RedisLink:
    """Writes and reads keys of a Redis."""

    def __init__(self, engine, patience=PATIENCE):
        import redis
        self.client = redis.Redis(unix_socket_path=engine.path, socket_timeout=patience)

    def write(self, key, value):
        """Set a key, or delete it if the value is None."""
        if value is None:
            self.client.delete(key)
        else:
            self.client.set(key, value)

    def raise_to(self, key, value):
        """Set a key, unless its value is greater: a write that was late changes nothing then."""
        self.client.eval("if tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[1]) then "
                         "redis.call('SET', KEYS[1], ARGV[1]) end", 1, key, value)

    def read(self, key):
        """The value of a key in bytes, or b'-'."""
        found = self.client.get(key)
        return NONE if found is None else found

    def close(self):
        self.client.close()


class PostgreSQLLink:
    """Writes and reads rows of the table page of a PostgreSQL. Each write notifies."""

    def __init__(self, engine, patience=PATIENCE):
        import psycopg2
        self.connection = psycopg2.connect(
            host=engine.data, port=engine.port, user='nobody', dbname='postgres',
            options=f'-c statement_timeout={int(patience * 1000)}')
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()

    def write(self, key, value):
        """Set a key, or delete it if the value is None, in a transaction with the notification."""
        if value is None:
            change = f"DELETE FROM page WHERE name = '{key}'"
        else:
            change = (f"INSERT INTO page VALUES ('{key}', {value}) "
                      f"ON CONFLICT (name) DO UPDATE SET value = {value}")
        self.cursor.execute(f"BEGIN; {change}; SELECT pg_notify('page', '{key}'); COMMIT")

    def raise_to(self, key, value):
        """Set a key, unless its value is greater: a write that was late changes nothing then."""
        self.cursor.execute(f"BEGIN; INSERT INTO page VALUES ('{key}', {value}) ON CONFLICT (name) DO "
                            f"UPDATE SET value = GREATEST(page.value, {value}); "
                            f"SELECT pg_notify('page', '{key}'); COMMIT")

    def read(self, key):
        """The value of a key in bytes, or b'-'."""
        self.cursor.execute(f"SELECT value FROM page WHERE name = '{key}'")
        found = self.cursor.fetchone()
        return b'%d' % found[0] if found else NONE

    def close(self):
        self.connection.close()


def link(engine, *more):
    """A link to an engine."""
    return (RedisLink if isinstance(engine, Redis) else PostgreSQLLink)(engine, *more)


def make_redis(*words, **more):
    """A Redis, and the words for hbfollow that follow its pages."""
    engine = Redis(*words, **more)
    return engine, (engine.url('?prefix=page:'),)


def make_postgresql(*words, **more):
    """A PostgreSQL with a table page, and the words for hbfollow that follow it."""
    engine = PostgreSQL(*words, **more)
    engine.run('CREATE TABLE page (name text PRIMARY KEY, value bigint)')
    return engine, ('--channel', 'page', engine.url())


class Child:
    """A process that runs a function. Its result can be pickled."""

    count = 0

    def __init__(self, function, *arguments):
        Child.count += 1
        fork = multiprocessing.get_context('fork')
        self._end, end = fork.Pipe(False)
        fork.Process(target=self._run, args=(end, function, *arguments)).start()
        end.close()

    @staticmethod
    def _run(end, function, *arguments):
        # Processes of the parent are not ended by this one; ports and paths are its own.
        follow._running = []
        follow._count = 100 * Child.count
        follow.take_ports(Child.count)
        try:
            end.send(function(*arguments))
        finally:
            for process in follow._running:
                process.kill()

    def result(self):
        """Wait for its end. Returns the result. Raises EOFError: it has failed, and has said why."""
        return self._end.recv()
