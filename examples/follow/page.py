#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""page.py NAME - print a page: from the belt, or from PostgreSQL, of which PGHOST and so on tell.

    hbctl create pages --ttl 1h
    hbfollow --print-sql | psql shop
    psql -f page.sql shop
    hbfollow -b pages --channel page postgresql:///shop &
    PGDATABASE=shop python3 page.py home

The table notifies its changes. One caller runs the query, and the others wait for its result, which is stored
only if the page has not changed meanwhile. The query has a transaction of its own: an older snapshot could
have an older page.
"""

import sys

import hashbelt
import psycopg2

belt = hashbelt.open("pages", hashbelt.JSON())


@belt.cached(key=lambda name: name)
def page(name):
    """The content of a page, or None."""
    connection = psycopg2.connect("")
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT content FROM page WHERE name = %s", (name,))
            row = cursor.fetchone()
    finally:
        connection.close()
    return row and row[0]


if __name__ == "__main__":
    print(page(sys.argv[1]))
