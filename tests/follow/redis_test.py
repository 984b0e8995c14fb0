#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""redis_test.py - hbfollow removes what changes in Redis, and nothing else."""

from follow import Belt, Follower, Redis, at_last, equal, finish, true

redis = Redis()
belt = Belt()
belt.put('page:old')
follower = Follower(belt, '-v', redis.url('?prefix=page:&prefix=user:')).wait_until(True)
true('the belt is cleared before it is followed', not belt.has('page:old'))


def removes(name, keys, kept, *words):
    """A check: a command removes these keys from the belt, and leaves others."""
    belt.put(*keys, *kept)
    redis.client.execute_command(*words)
    at_last(lambda: not belt.keys(*keys))
    equal(f'{name}: the changed keys are removed, and no others', [[], list(kept)],
          [belt.keys(*keys), belt.keys(*kept)])


removes('SET', ['page:1'], ['page:2', 'other'], 'SET', 'page:1', 'a')
removes('DEL', ['page:1'], ['page:2'], 'DEL', 'page:1')
removes('MSET', ['page:1', 'page:2', 'user:1'], ['page:3', 'other'], 'MSET', 'page:1', 'a', 'page:2', 'b',
        'other', 'c', 'user:1', 'd')
follower.stop('Redis')
finish()
