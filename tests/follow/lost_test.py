#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""lost_test.py - hbfollow clears the belt when an engine is lost, while it is lost, and when it is back."""

import os
import shutil
import signal
import time

from follow import FAKE, Belt, Follower, PostgreSQL, Proxy, Redis, at_last, equal, finish, new_path, result, true

belt = Belt()
# Long enough that a slow machine is no loss.
DETECT = 3 if FAKE else 10


def lost(name, follower, cut, mend, change):
    """Checks: CUT loses the engine, MEND gives it back, and CHANGE, which changes "k", is told then."""
    losses = follower.figures()['losses_total']
    belt.put('before')
    cut()
    true(f'{name}: the loss is noticed, and the belt is cleared',
         at_last(lambda: follower.figures()['losses_total'] > losses and not belt.has('before')), follower.said())
    if mend:
        belt.put('while')
        true(f'{name}: the belt is cleared again while the engine is lost', at_last(lambda: not belt.has('while')))
        mend()
    follower.wait_until(True)
    belt.put('k', 'l')
    change()
    true(f'{name}: a change is told again', at_last(lambda: not belt.has('k')))
    true(f'{name}: nothing else is removed then', belt.has('l'))


# Redis
redis = Redis()
proxy = Proxy(redis.port)
follower = Follower(belt, '-v', '--detect', f'{DETECT}s', '--offline', '200ms',
                    f'redis://127.0.0.1:{proxy.port}').wait_until(True)


def change():
    redis.client.set('k', time.time())


def client_of(number):
    """The numbers of the connections of hbfollow, as Redis gave them: the subscriber's comes first."""
    return sorted(int(client['id']) for client in redis.client.client_list() if client['name'] == 'hbfollow')[number]


lost('the subscriber is killed', follower, lambda: redis.client.client_kill_filter(_id=client_of(0)), None, change)
lost('the commander is killed', follower, lambda: redis.client.client_kill_filter(_id=client_of(1)), None, change)
for number, name in ((-2, 'subscriber'), (-1, 'commander')):
    way = proxy.connections[number].passes
    lost(f'the network swallows what is for the {name}', follower, way.clear, None, change)
    way.set()
lost('Redis stands still', follower, lambda: redis.signal(signal.SIGSTOP), lambda: redis.signal(signal.SIGCONT),
     change)
lost('Redis becomes a replica', follower, lambda: redis.client.replicaof('127.0.0.1', 1),
     lambda: redis.client.replicaof('NO', 'ONE'), change)


def restart():
    global redis
    redis = redis.again()


lost('Redis is killed', follower, redis.kill, restart, change)
follower.signal(signal.SIGSTOP)
belt.put('stale')
time.sleep(DETECT + 1)      # longer than --detect: the state under test
losses = follower.figures()['losses_total']
follower.signal(signal.SIGCONT)
true('hbfollow stood still: it takes the engine for lost, and clears', at_last(
    lambda: follower.figures()['losses_total'] == losses + 1 and not belt.has('stale')))
follower.wait_until(True)
follower.stop('Redis')
redis.kill()
belt.put('k')
follower = Follower(belt, redis.url())
true('a server that is not there: the belt is cleared', at_last(lambda: not belt.has('k')))
true('a server that is not there: the log says so once', at_last(
    lambda: follower.figures() and follower.said().count('Connection refused') == 1), follower.said())
follower.stop('a server that is not there')
follower = Follower(belt, 'redis://nowhere.invalid')
true('a host that is not there is named', at_last(lambda: 'nowhere.invalid' in follower.said()), follower.said())
follower.stop('a host that is not there')

# PostgreSQL
server = PostgreSQL()
proxy = Proxy(server.port)
words = ['-v', '--detect', f'{DETECT}s', '--offline', '200ms', '--channel', 'pages']
follower = Follower(belt, *words, f'postgresql://nobody@127.0.0.1:{proxy.port}/postgres').wait_until(True)


def notify():
    server.run("NOTIFY pages, 'k'")


def backend():
    return server.run("SELECT pid FROM pg_stat_activity WHERE application_name = 'hbfollow' AND backend_type = "
                      "'client backend' ORDER BY backend_start DESC")[0][0]


def reconnect():
    global server
    server = server.again()


lost('the session is ended', follower, lambda: server.run('SELECT pg_terminate_backend(%s)', backend()), None, notify)
way = proxy.connections[-1].passes
lost('the network swallows what PostgreSQL sends', follower, way.clear, None, notify)
way.set()
lost('PostgreSQL is shut down', follower, lambda: (server.signal(signal.SIGINT), server.wait()), reconnect, notify)
follower.stop('PostgreSQL')
proxy = None
follower = Follower(belt, *words, server.url())
follower.wait_until(True)
server.signal(signal.SIGSTOP)
pid = backend()
lost('the session stands still', follower, lambda: os.kill(pid, signal.SIGSTOP), lambda: (
    server.signal(signal.SIGCONT), os.kill(pid, signal.SIGCONT)), notify)
follower.stop('a session that stands still')

# Failures of the belt
if FAKE:
    follower = Follower(belt, '--offline', '1h', '--channel', 'pages', server.url())
    follower.wait_until(True)
    belt.put('k', 'l')
    belt.fail('remove', 12)
    notify()
    true('a removal that fails is a loss, and the belt is cleared', at_last(
        lambda: follower.figures()['losses_total'] == 1 and not belt.keys('k', 'l')))
    belt.fail('remove', 0)
    follower.wait_until(True)
    belt.put('k')
    belt.fail('clear', 12)
    server.run("NOTIFY pages, '*'")
    true('a clear that fails is a loss', at_last(lambda: follower.figures()['losses_total'] == 2))
    equal('clears that fail in the same way are one line of the log', 1, follower.said().count('cannot clear'))
    equal('it does not follow before the belt is cleared', False, follower.follows())
    belt.fail('clear', 0)
    follower.wait_until(True)
    true('a clear that fails is tried again soon, and it follows when one is done', not belt.has('k'))
    belt.fail('remove', 1)
    notify()
    follower.stop('a belt without the right to remove', number=0, status=1)
    result('its message is about the belt', '' if 'the fake belt' in follower.said() else follower.said())
    belt.fail('remove', 0)


def run_short(name, url, told, *words):
    """Checks: allocations that fail, of hbfollow and of libraries, do it no harm."""
    path = new_path('.short')
    follower = Follower(belt, '--offline', '200ms', *words, url, program='hbfollow-plain', environment={
        'SHORT_OF_MEMORY': path, 'LD_PRELOAD': shutil.which('short.so')}).wait_until(True)
    for _ in range(5):
        with open(path, 'w', encoding='ascii'):
            pass
        for i in range(200):
            belt.put('k', str(i))
            told()
        os.unlink(path)
        # An attempt may have failed: the next one follows.
        belt.put('k')
        at_last(lambda: told() or not belt.has('k'))
        follower.wait_until(True)
    belt.put('k')
    told()
    true(f'{name}: a change is told after allocations have failed', at_last(lambda: not belt.has('k')))
    follower.stop(f'{name}: allocations that fail')


if FAKE:
    redis = Redis()
    run_short('Redis', redis.url(), change)
    run_short('PostgreSQL', server.url(), notify, '-c', 'pages')
finish()
