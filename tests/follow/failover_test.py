#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""failover_test.py - hbfollow with replicas, over failovers by hand, by Sentinel and of PostgreSQL, and in a cluster.

A server that has lost its role, or a replica that is cut off, is never followed.
"""

import os
import signal
import subprocess
import time

from follow import (HOST, NOBODY, POSTGRESQL, Belt, Follower, PostgreSQL, Process, Redis, at_last, equal, finish,
                    new_path, new_port, true)

belt = Belt()
REFUSED = 'does not follow: the server is a replica'
FAST = ['--repl-ping-replica-period', '1', '--repl-diskless-sync-delay', '0']


def tells(name, follower, server, key='k'):
    """Checks: a change at a server is told, and nothing else is removed."""
    belt.put(key, 'kept')
    server.client.set(key, time.time())
    true(f'{name}: a change is told', at_last(lambda: not belt.has(key)), follower.said())
    true(f'{name}: nothing else is removed, and it is not lost', belt.has('kept') and follower.follows(),
         follower.said())


def lost(name, follower, cut, reason):
    """Checks: CUT is a loss for that reason, and the belt is cleared."""
    losses = follower.figures()['losses_total']
    belt.put('before')
    cut()
    true(f'{name}: the engine is lost, and the belt is cleared',
         at_last(lambda: follower.figures()['losses_total'] > losses and not belt.has('before')) and
         reason in follower.said(), follower.said())


def stays_lost(name, follower):
    """Checks: a server that has become a replica is refused, at each attempt."""
    true(f'{name}: it is not followed again', at_last(lambda: REFUSED in follower.said()), follower.said())
    belt.put('while')
    true(f'{name}: the belt is cleared while it is a replica', at_last(lambda: not belt.has('while')))
    equal(f'{name}: the figures say that the engine is lost', 0, follower.figures()['state'])


def replica_of(server, *words):
    """A replica that has all that a server has."""
    replica = Redis('--replicaof', f'{HOST} {server.port}', *FAST, *words)
    if not at_last(lambda: replica.client.info('replication')['master_link_status'] == 'up'):
        raise RuntimeError(replica.said())
    return replica


# Replicas
primary = Redis(*FAST)
replica = replica_of(primary)
follower = Follower(belt, replica.url())
stays_lost('a replica', follower)
follower.stop('a replica')
follower = Follower(belt, '--replica', '--detect', '10s', '--offline', '200ms', replica.url()).wait_until(True)
tells('--replica', follower, primary)
equal('--replica: the figures have the role', 1, follower.figures()['replica'])
true('--replica: the log has the role', 'follows a replica' in follower.said())
lost('a primary that stands still', follower, lambda: primary.signal(signal.SIGSTOP), 'heard nothing from its primary')
primary.signal(signal.SIGCONT)
follower.wait_until(True)
tells('a primary that goes on', follower, primary)
lost('a replica without its primary', follower, primary.kill, 'lost: the replica has no connection')
primary = primary.again()
follower.wait_until(True)
tells('a replica whose primary is back', follower, primary)
lost('a replica that is promoted', follower, lambda: replica.client.replicaof('NO', 'ONE'),
     'lost: the server has become a primary')
follower.wait_until(True)
equal('a replica that is promoted: the figures have the role', 0, follower.figures()['replica'])
tells('a replica that is promoted', follower, replica)
follower.stop('--replica')
primary.kill()
replica.kill()


def role(server):
    """The role of a server; nothing if it has closed the connection, as one does that is promoted."""
    import redis
    try:
        return server.client.info('replication')['role']
    except redis.RedisError:
        return ''


# A failover by Sentinel: the former primary comes back as a replica, and is then cut off
primary = Redis(*FAST)
replica = replica_of(primary)
path = new_path('.conf')
with open(path, 'w', encoding='ascii') as file:
    file.write(f"""port {new_port()}
bind {HOST}
sentinel monitor shop {HOST} {primary.port} 1
sentinel down-after-milliseconds shop 1000
sentinel failover-timeout shop 10000
""")
sentinel = Process(['redis-server', path, '--sentinel'])
true('Sentinel knows the replica', at_last(lambda: '+slave slave' in sentinel.said()), sentinel.said())
follower = Follower(belt, '--detect', '2s', '--offline', '200ms', primary.url()).wait_until(True)
tells('before a failover by Sentinel', follower, primary)
lost('a failover by Sentinel', follower, lambda: primary.signal(signal.SIGSTOP), 'lost: no answer')
true('a failover by Sentinel: the replica is promoted', at_last(
    lambda: role(replica) == 'master'), sentinel.said())
primary.signal(signal.SIGCONT)
stays_lost('a primary that Sentinel has demoted', follower)
replica.kill()
sentinel.kill()
belt.put('while')
true('a primary that was demoted and then cut off: the belt is cleared', at_last(lambda: not belt.has('while')))
equal('a primary that was demoted and then cut off: it is not followed', 0, follower.figures()['state'])
follower.stop('a failover by Sentinel')
primary.kill()


def command(server, *words):
    """The answer to a command, or nothing if it is an error."""
    import redis
    try:
        return server.client.execute_command(*words)
    except redis.RedisError:
        return None


# A slot of a cluster of two primaries migrates: what it has is told, and so is each change at the new place
nodes = first, second = [Redis(
    '--cluster-enabled', 'yes', '--cluster-config-file', new_path('.nodes'), '--cluster-port', str(new_port()),
    '--cluster-node-timeout', '5000', *FAST) for _ in range(2)]
command(first, 'CLUSTER', 'ADDSLOTSRANGE', 0, 16383)
command(second, 'CLUSTER', 'MEET', HOST, first.port, int(first.words[5]))
true('a cluster has all slots', at_last(lambda: all(
    'cluster_state:ok' in str(command(node, 'CLUSTER', 'INFO')) and
    'cluster_known_nodes:2' in str(command(node, 'CLUSTER', 'INFO')) for node in nodes)), first.said())
ids = [command(node, 'CLUSTER', 'MYID').decode() for node in nodes]
followers = [Follower(belt, '--detect', '10s', node.url()).wait_until(True) for node in nodes]
true('a node of a cluster: the log says that each primary needs an hbfollow',
     'each primary of it needs an hbfollow' in followers[0].said(), followers[0].said())
tells('a node of a cluster', followers[0], first)
belt.put('k')
slot = command(first, 'CLUSTER', 'KEYSLOT', 'k')
# Valkey 9 migrates slots itself.
if not command(first, 'CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', slot, slot, 'NODE', ids[1]):
    command(second, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids[0])
    command(first, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids[1])
    command(first, 'MIGRATE', HOST, second.port, 'k', 0, 5000)
    for node in reversed(nodes):
        command(node, 'CLUSTER', 'SETSLOT', slot, 'NODE', ids[1])
true('a slot that migrates: the new node has the key', at_last(lambda: command(second, 'GET', 'k')))
true('a slot that migrates: its keys are told', at_last(lambda: not belt.has('k')))
tells('a slot that has migrated', followers[1], second)
for one in followers:
    true('a node of a cluster whose slot migrates is not lost', one.follows(), one.said())
    one.stop('a node of a cluster whose slot migrates')
for node in nodes:
    node.kill()

# A standby server that is promoted
server = PostgreSQL()
data = new_path('.data')
subprocess.run([f'{POSTGRESQL}/pg_basebackup', '-h', HOST, '-p', str(server.port), '-U', 'nobody', '-D', data, '-R',
                '--checkpoint=fast'], check=True)
for directory, names, files in os.walk(data):
    for where in (directory, *(f'{directory}/{file}' for file in files)):
        os.chown(where, NOBODY, NOBODY)
standby = PostgreSQL(data=data)
follower = Follower(belt, '--offline', '200ms', '-c', 'pages', standby.url())
true('a standby server is not followed', at_last(lambda: 'during recovery' in follower.said()), follower.said())
both = Follower(belt, '--offline', '200ms', '-c', 'pages', (
    f'postgresql://nobody@{HOST}:{server.port},{HOST}:{standby.port}/postgres?target_session_attrs=read-write'))
both.wait_until(True)
belt.put('k')
server.run("NOTIFY pages, 'k'")
true('a URL of two servers: a change at the primary is told', at_last(lambda: not belt.has('k')))
lost('the end of a primary', both, lambda: (server.signal(signal.SIGQUIT), server.wait()), 'lost: ')
standby.run('SELECT pg_promote()')
for name, one in (('a standby server that is promoted', follower), ('a URL of two servers', both)):
    one.wait_until(True)
    belt.put('k', 'kept')
    standby.run("NOTIFY pages, 'k'")
    true(f'{name}: a change is told', at_last(lambda: not belt.has('k')))
    one.stop(name)
finish()
