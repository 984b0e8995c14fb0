#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""ring_killed.t - nutcracker in front of five hbserve, of which one is killed and comes back: the keys that
move, the old values that come back with it, and what keeps them away.

A value names the round in which it was stored, so a value of an earlier round is an old one.
"""

import signal
import subprocess

from ring import SIZE, Gateway, Proxy, free_ports, get_all, ketama, put_all
from serve import DIRECTORY, at_last, equal, finish, hbctl, make_belt, true

subprocess.run(['ifconfig', 'lo', '127.0.0.1', 'up'], check=True)
KEYS = [f'key:{i}' for i in range(2000)]
LOST = 2
names = [f'gateway{place}' for place in range(SIZE)]
server_of = ketama(names)
rest = [name for place, name in enumerate(names) if place != LOST]
of_lost = [key for key in KEYS if server_of(key) == LOST]
of_others = [key for key in KEYS if server_of(key) != LOST]
for place in range(SIZE):
    make_belt(f'ring{place}', '--ttl', '5m')
gateways = [Gateway(place, port) for place, port in enumerate(free_ports(SIZE))]
lost = gateways[LOST]
servers = [f'{one.path}:1 {name}' for one, name in zip(gateways, names)]


def values(keys, round_):
    return {key: f'{key} of round {round_}' for key in keys}


def refusals(found):
    """The keys whose server did not answer."""
    return {key for key, value in found.items() if value and value.startswith('SERVER_ERROR')}


def old(found, round_):
    """The keys with a value that is not of this round."""
    right = values(KEYS, round_)
    return [key for key, value in found.items() if value not in (None, right[key])]


def settled(keys, condition):
    """Get the keys until each server answers and the values meet a condition. Returns the values."""
    def look():
        found = get_all(client, keys)
        return found if not refusals(found) and condition(found) else None
    return at_last(look)


def store(keys, round_):
    """Set keys, each until a server stores it."""
    left = values(keys, round_)

    def try_it():
        nonlocal left
        put_all(client, left)
        found = get_all(client, list(left))
        left = {key: value for key, value in left.items() if found[key] != value}
        return not left
    return at_last(try_it)


def missing(found):
    return not any(found.values())


def kill():
    """Kill the server. Returns what its keys are then, when nutcracker has noticed."""
    lost.kill()
    return settled(of_lost, lambda found: True)


# Without a server its keys move
proxy = Proxy(f'{DIRECTORY}/proxy', servers, auto_eject_hosts='true', server_failure_limit=1,
              server_retry_timeout=1000)
client = proxy.connect()
equal('2000 keys are stored', [], put_all(client, values(KEYS, 1)))
found = kill()
equal('all keys of a killed server are misses', [], [key for key in of_lost if found[key]])
found = settled(of_others, lambda found: True)
equal('no key of another server moves', values(of_others, 1), found)
# Five times the root of 0.2 * 0.8 * (1 / 801 + 1 / 2000), for 2000 keys (ring_commands.t).
share = len(of_lost) / len(KEYS)
print(f'# share of the keys that move: {share}')
true('the share of keys that move is 0.2, and at most 0.0837 more or less', abs(share - 0.2) < 0.0837, share)
true('the keys of the killed server are stored again', store(of_lost, 2))
moved_to = ketama(rest)
held = [one.holds(of_lost) for one in gateways if one is not lost]
equal('they move to the servers that follow on the ring', [],
      [key for key in of_lost if [key in keys for keys in held] !=
       [place == moved_to(key) for place in range(SIZE - 1)]])

# Danger: old values come back with a server
lost.restart()
found = settled(of_lost, lambda found: len(old(found, 2)) == len(of_lost))
equal('a server that comes back with its belt returns the old value of each of its keys',
      values(of_lost, 1), found)
found = get_all(client, of_others)
equal('a server that comes back moves no key of another server', values(of_others, 1), found)

# Remedy: the belt is cleared first
true('the keys are stored again', store(of_lost, 2))
kill()
true('the keys of the killed server are stored again', store(of_lost, 3))
hbctl('-b', lost.belt, 'clear')
lost.restart()
found = settled(of_lost, missing)
equal('a server whose belt was cleared before its start returns no old value', [], old(found, 3))
true('the keys are stored again', store(of_lost, 4))

# Danger: the others keep the values that they had meanwhile
found = kill()
equal('when the server is killed again, the others return the values of the time before',
      values(of_lost, 3), found)
hbctl('-b', lost.belt, 'clear')
lost.restart()
settled(of_lost, missing)
for one in gateways:
    hbctl('-b', one.belt, 'clear')
true('the keys are stored again', store(KEYS, 5))
found = kill()
equal('if all belts were cleared when the server was back, the others return no old value', [], old(found, 5))
true('the keys of the killed server are stored again', store(of_lost, 6))
hbctl('-b', lost.belt, 'clear')
lost.restart()
settled(of_lost, missing)

# Danger: a server that was silent, and was not started again
true('the keys are stored again', store(KEYS, 7))
proxy.stop()
proxy = Proxy(f'{DIRECTORY}/proxy', servers, auto_eject_hosts='true', server_failure_limit=1,
              server_retry_timeout=1000, timeout=500)
client = proxy.connect()
for one in gateways:
    if one is not lost:
        hbctl('-b', one.belt, 'clear')
lost.process.send_signal(signal.SIGSTOP)
true('the keys of a server that is silent move', settled(of_lost[:1], missing))
true('a key of the silent server is stored', store(of_lost[:1], 8))
lost.process.send_signal(signal.SIGCONT)
found = settled(of_lost[:1], lambda found: old(found, 8))
equal('a server that was silent returns the old value when it answers again', values(of_lost[:1], 7), found)
proxy.stop()

# Remedy: no key moves
proxy = Proxy(f'{DIRECTORY}/proxy', servers, server_retry_timeout=1000)
client = proxy.connect()
true('the keys are stored again', store(KEYS, 9))
lost.kill()
found = get_all(client, KEYS)
equal('without auto_eject_hosts all keys of a killed server are errors, and no others', set(of_lost), refusals(found))
equal('without auto_eject_hosts the other servers have the right values',
      values(of_others, 9), {key: found[key] for key in of_others})
true('without auto_eject_hosts a set on a killed server is an error',
     all(reply.startswith('SERVER_ERROR') for reply in put_all(client, values(of_lost, 10))))
hbctl('-b', lost.belt, 'clear')
lost.restart()
found = settled(KEYS, lambda found: True)
equal('its belt was cleared: when it is back its keys are misses', [], [key for key in of_lost if found[key]])
proxy.stop()
for one in gateways:
    one.stop(names[one.place])
finish()
