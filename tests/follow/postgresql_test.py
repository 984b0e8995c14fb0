#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""postgresql_test.py - hbfollow removes the keys that PostgreSQL notifies."""

import os

from follow import DIRECTORY, Belt, Follower, PostgreSQL, at_last, equal, finish, install_functions, true

server = PostgreSQL('-c', 'wal_level=logical')
belt = Belt()
belt.put('old')
follower = Follower(belt, '-v', '--channel', 'pages', '--channel', 'Two "names"', server.url()).wait_until(True)
true('the belt is cleared before it is followed', not belt.has('old'))


def removes(name, keys, kept, statement, *values):
    belt.removes(name, keys, kept, lambda: server.run(statement, *values))


removes('NOTIFY', ['1'], ['2'], "NOTIFY pages, '1'")
removes('pg_notify', ['a b', "it's"], ['2'], 'SELECT pg_notify(%s, k) FROM (VALUES (%s), (%s)) AS keys(k)', 'pages',
        'a b', "it's")
removes('a channel with blanks and quotes', ['1'], ['2'], 'SELECT pg_notify(%s, %s)', 'Two "names"', '1')
removes('a payload of *', ['1', '2'], [], "NOTIFY pages, '*'")
removes('no payload', ['1', '2'], [], 'NOTIFY pages')
follower.stop('PostgreSQL')

# The triggers of hashbelt_follow()
server.run('CREATE TABLE pages (id text, body text)')
install_functions(server)
install_functions(server)
server.run("SELECT hashbelt_follow('pages', 'id', 'page:', 'pages')")
follower = Follower(belt, '--strip', 'page:', '-c', 'pages', server.url()).wait_until(True)
removes('the trigger: INSERT', ['1'], ['2'], "INSERT INTO pages VALUES ('1', 'a')")
removes('the trigger: INSERT of rows', ['2', '3'], ['1'], "INSERT INTO pages VALUES ('2', 'a'), ('3', 'a')")
removes('the trigger: UPDATE', ['1', '2'], ['3'], "UPDATE pages SET body = 'b' WHERE id < '3'")
removes('the trigger: UPDATE of a key', ['3', '4'], ['1'], "UPDATE pages SET id = '4' WHERE id = '3'")
removes('the trigger: DELETE', ['4'], ['1'], "DELETE FROM pages WHERE id = '4'")
removes('the trigger: TRUNCATE', ['1', '2', 'other'], [], 'TRUNCATE pages')
belt.put('1', '2')
other = server.connect()
other.autocommit = False
with other.cursor() as cursor:
    cursor.execute("INSERT INTO pages VALUES ('1', 'a')")
server.run("INSERT INTO pages VALUES ('2', 'a')")
true('a change is told', at_last(lambda: not belt.has('2')))
equal('a change is not told before its transaction commits', True, belt.has('1'))
other.commit()
true('it is told when its transaction commits', at_last(lambda: not belt.has('1')))
belt.put('1')
with other.cursor() as cursor:
    cursor.execute("INSERT INTO pages VALUES ('1', 'a')")
other.rollback()
removes('a change that was rolled back is not told', ['2'], ['1'], "INSERT INTO pages VALUES ('2', 'a')")
many = [str(i) for i in range(10, 3010)]
belt.put(*many[:5], *many[-5:])
server.run("INSERT INTO pages SELECT generate_series(10, 3009)::text, 'a'")
true('the keys of 3000 rows are told', at_last(
    lambda: follower.figures()['keys_total'] >= 3000 and not belt.keys(*many[:5], *many[-5:])))
removes('a key of NULL is not told, and clears nothing', ['2'], ['1'],
        "INSERT INTO pages VALUES (NULL, 'a'), ('2', 'a')")
removes('a key that becomes NULL', ['2'], ['1'], "UPDATE pages SET id = NULL WHERE id = '2'")
removes('a key of 9000 bytes does not fail the writer, and clears', ['1', '2'], [],
        "INSERT INTO pages VALUES (repeat('x', 9000), 'a')")
removes('a transaction in the role of a replica', ['2'], ['1'],
        "BEGIN; SET LOCAL session_replication_role = replica; INSERT INTO pages VALUES ('2', 'a'); COMMIT")
removes('hashbelt.quiet', ['2'], ['1'], "BEGIN; SET LOCAL hashbelt.quiet = on; UPDATE pages SET body = 'c' WHERE "
        "id = '1'; SET LOCAL hashbelt.quiet = off; UPDATE pages SET body = 'c' WHERE id = '2'; COMMIT")
server.run('ALTER TABLE pages RENAME id TO name')
removes('a renamed column does not fail the writer, and clears', ['1', '2'], [], "INSERT INTO pages VALUES ('3', 'a')")
removes('a table is followed anew, which clears', ['1', '2'], [],
        "SELECT hashbelt_follow('pages', 'name', 'page:', 'pages')")
removes('a renamed column of a table that is followed anew', ['3'], ['1'],
        "UPDATE pages SET body = 'd' WHERE name = '3'")


def refuses(name, statement, text):
    """A check: a statement fails with this text."""
    try:
        server.run(statement)
        found = 'it is done'
    except Exception as error:  # psycopg2 is imported late
        found = str(error)
    true(f'{name} is refused', text in found, found)


refuses('a column that is not there', "SELECT hashbelt_follow('pages', 'id')", 'table pages has no column id')
refuses('a channel that is too long', "SELECT hashbelt_follow('pages', 'name', '', repeat('x', 64))", '1 to 63 bytes')

# Partitions, children
server.run('CREATE TABLE parts (id int, n int) PARTITION BY RANGE (n)')
server.run('CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (10)')
server.run('CREATE TABLE base (id text); CREATE TABLE child (more text) INHERITS (base)')
for table in ('parts', 'base'):
    removes(f'{table}: a table is followed, which clears', ['1'], [],
            f"SELECT hashbelt_follow('{table}', 'id', 'page:', 'pages')")
removes('INSERT into a partition by its table', ['1'], ['2'], 'INSERT INTO parts VALUES (1, 1)')
removes('UPDATE of a partition', ['1'], ['2'], 'UPDATE part1 SET n = 2')
removes('TRUNCATE of a partition', ['1', '2'], [], 'TRUNCATE part1')
removes('TRUNCATE of a table with partitions', ['1', '2'], [], 'TRUNCATE parts')
server.run('CREATE TABLE part2 PARTITION OF parts FOR VALUES FROM (10) TO (20)')
removes('INSERT into a new partition, in the role of a replica', ['1'], ['2'],
        'BEGIN; SET LOCAL session_replication_role = replica; INSERT INTO part2 VALUES (1, 11); COMMIT')
removes('a table with a new partition is followed anew', ['1', '2'], [],
        "SELECT hashbelt_follow('parts', 'id', 'page:', 'pages')")
removes('TRUNCATE of a new partition', ['1', '2'], [], 'TRUNCATE part2')
removes('INSERT into a child', ['1'], ['2'], "INSERT INTO child VALUES ('1', 'a')")
removes('TRUNCATE of a child', ['1', '2'], [], 'TRUNCATE child')

# A logical subscription
server.run('CREATE DATABASE shop')
shop = server.connect('shop')
with shop.cursor() as cursor:
    cursor.execute('CREATE TABLE pages (name text PRIMARY KEY, body text); CREATE PUBLICATION shop FOR TABLE pages')
    cursor.execute("SELECT pg_create_logical_replication_slot('shop', 'pgoutput')")
    server.run('TRUNCATE pages')
    server.run(f"CREATE SUBSCRIPTION shop CONNECTION 'host=127.0.0.1 port={server.port} dbname=shop user=nobody' "
               'PUBLICATION shop WITH (create_slot = false)')
    belt.put('1', '2')
    cursor.execute("INSERT INTO pages VALUES ('1', 'a')")
    true('a logical subscription: INSERT is told', at_last(lambda: not belt.has('1')))
    equal('a logical subscription: other keys stay', True, belt.has('2'))
    cursor.execute('TRUNCATE pages')
    true('a logical subscription: TRUNCATE clears', at_last(lambda: not belt.has('2')))
server.run('ALTER SUBSCRIPTION shop DISABLE; ALTER SUBSCRIPTION shop SET (slot_name = NONE); DROP SUBSCRIPTION shop')
shop.close()

# All triggers are removed
server.run('DROP FUNCTION hashbelt_changed CASCADE')
equal('DROP FUNCTION removes all triggers', [(0,)],
      server.run("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal"))
server.run('DROP TABLE pages; CREATE TABLE pages (id text, body text)')
install_functions(server)
server.run("SELECT hashbelt_follow('pages', 'id', 'page:', 'pages')")
follower.stop('the triggers')

# Passwords. Certificates are libpq's
secret = f'{DIRECTORY}/secret'
with open(secret, 'w', encoding='ascii') as file:
    os.fchmod(file.fileno(), 0o600)
    file.write('first')
server.run("CREATE USER follower PASSWORD 'first'")
with open(f'{server.data}/pg_hba.conf', 'w', encoding='ascii') as file:
    file.write('host all nobody all trust\nhost all follower all scram-sha-256\n')
server.run('SELECT pg_reload_conf()')
follower = Follower(belt, '-c', 'pages', '--password-file', secret, '-u', 'follower',
                    server.url(user='').replace('@', '')).wait_until(True)
removes('a password', ['page:1'], ['2'], "INSERT INTO pages VALUES ('1', 'b')")
with open(secret, 'w', encoding='ascii') as file:
    file.write('second')
server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'follower'")
true('a wrong password is refused', at_last(lambda: 'password authentication failed' in follower.said()),
     follower.said())
server.run("ALTER USER follower PASSWORD 'second'")
follower.wait_until(True)
true('it follows when the password is right', 'second' not in follower.said())
follower.stop('a password')
finish()
