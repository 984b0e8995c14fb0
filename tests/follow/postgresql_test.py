#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""postgresql_test.py - hbfollow removes the keys that PostgreSQL notifies."""

from follow import PostgreSQL, equal, finish

server = PostgreSQL()
equal('PostgreSQL answers', [(1,)], server.run('SELECT 1'))
finish()
