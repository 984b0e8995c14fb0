#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""postgresql_test.py - hbfollow removes the keys that PostgreSQL notifies."""

from follow import Belt, Follower, PostgreSQL, at_last, equal, finish, true

server = PostgreSQL()
belt = Belt()
belt.put('old')
follower = Follower(belt, '-v', '--channel', 'pages', '--channel', 'Two "names"', server.url()).wait_until(True)
true('the belt is cleared before it is followed', not belt.has('old'))


def removes(name, keys, kept, statement, *values):
    """A check: a statement removes these keys from the belt, and leaves others."""
    belt.put(*keys, *kept)
    server.run(statement, *values)
    at_last(lambda: not belt.keys(*keys))
    equal(f'{name}: the notified keys are removed, and no others', [[], list(kept)],
          [belt.keys(*keys), belt.keys(*kept)])


removes('NOTIFY', ['1'], ['2'], "NOTIFY pages, '1'")
removes('pg_notify', ['a b', "it's"], ['2'], 'SELECT pg_notify(%s, k) FROM (VALUES (%s), (%s)) AS keys(k)', 'pages',
        'a b', "it's")
removes('a channel with blanks and quotes', ['1'], ['2'], 'SELECT pg_notify(%s, %s)', 'Two "names"', '1')
removes('a payload of *', ['1', '2'], [], "NOTIFY pages, '*'")
removes('no payload', ['1', '2'], [], 'NOTIFY pages')
follower.stop('PostgreSQL')
finish()
