#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""pool_test.py - hbfollow behind pgbouncer: followed in session mode, and refused by name in the others."""

import signal
import threading

from follow import Belt, Follower, Pool, PostgreSQL, at_last, equal, finish, true

server = PostgreSQL()
belt = Belt()


class Others:
    """Clients of a pool that read all the time."""

    def __init__(self, pool):
        self._ended = False
        self._threads = [threading.Thread(target=self._run, args=(pool,), daemon=True) for _ in range(3)]
        for thread in self._threads:
            thread.start()

    def _run(self, pool):
        connection = pool.connect()
        with connection.cursor() as cursor:
            while not self._ended:
                cursor.execute('SELECT pg_sleep(0.001)')
        connection.close()

    def end(self):
        self._ended = True
        for thread in self._threads:
            thread.join()


def refused(mode, pool, crowd):
    """Checks: hbfollow does not follow by a pool of that mode, and says what to do."""
    name = f'pgbouncer in {mode} mode, {crowd}'
    follower = Follower(belt, '--offline', '100ms', '--channel', 'pages', pool.url())
    true(f'{name}: it is refused by name', at_last(
        lambda: 'a pool of connections that is not in session mode' in follower.said()), follower.said())
    true(f'{name}: it does not follow', not follower.follows(), follower.said())
    belt.put('k')
    true(f'{name}: the belt is cleared again and again', at_last(lambda: not belt.has('k')))
    follower.stop(name)


def followed(pool, crowd):
    """Checks: hbfollow follows by a pool in session mode."""
    name = f'pgbouncer in session mode, {crowd}'
    follower = Follower(belt, '--channel', 'pages', pool.url()).wait_until(True)
    keys = [f'key{i}' for i in range(20)]
    belt.put('kept', *keys)
    for key in keys:
        server.run(f"NOTIFY pages, '{key}'")
    true(f'{name}: all changes are told', at_last(lambda: not belt.keys(*keys)), belt.keys(*keys))
    equal(f'{name}: other keys stay', True, belt.has('kept'))
    return follower


for mode in ('transaction', 'statement'):
    pool = Pool(server, mode)
    refused(mode, pool, 'alone')
    others = Others(pool)
    refused(mode, pool, 'with other clients')
    others.end()
    pool.kill()
pool = Pool(server, 'session')
followed(pool, 'alone').stop('session mode')
others = Others(pool)
follower = followed(pool, 'with other clients')
pool.set_mode('transaction')
pool.signal(signal.SIGHUP)
true('the pool is given another mode', at_last(lambda: 'RELOAD' in pool.said() or 'SIGHUP' in pool.said()), pool.said())
belt.put('k')
server.run("NOTIFY pages, 'k'")
true('a pool that is given another mode goes on to tell changes, or is lost', at_last(lambda: not belt.has('k')))
others.end()
follower.stop('session mode, with other clients')
follower = Follower(belt, '--detect', '10s', '--channel', 'pages', pool.url())
true('after that it is refused by name', at_last(
    lambda: 'a pool of connections that is not in session mode' in follower.said()), follower.said())
follower.stop('a pool that is given another mode')
pool.kill()

# The end of a pool that is followed
pool = Pool(server, 'session')
follower = Follower(belt, '--channel', 'pages', pool.url()).wait_until(True)
belt.put('k')
pool.kill()
true('a pool that ends is lost, and the belt is cleared', at_last(
    lambda: follower.figures()['losses_total'] == 1 and not belt.has('k')), follower.said())
follower.stop('a pool that ends')
finish()
