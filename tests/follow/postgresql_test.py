#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""postgresql_test.py - hbfollow removes the keys that PostgreSQL notifies."""

import os

from follow import DIRECTORY, Belt, Follower, PostgreSQL, at_last, certificates, equal, finish, manual_block, true

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

# The trigger of hbfollow(8)
server.run('CREATE TABLE pages (id text, body text)')
server.run(manual_block('CREATE FUNCTION'))
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
follower.stop('the trigger')

# Passwords and TLS
secret = f'{DIRECTORY}/secret'
with open(secret, 'w', encoding='ascii') as file:
    os.fchmod(file.fileno(), 0o600)
    file.write('first')
server.run("CREATE USER follower PASSWORD 'first'")
with open(f'{server.data}/pg_hba.conf', 'w', encoding='ascii') as file:
    file.write('host all nobody all trust\nhostssl all follower all scram-sha-256\n')
for name in ('server.pem', 'server.key'):
    with open(f'{certificates()}/{name}', 'rb') as source, open(f'{server.data}/{name}', 'wb') as target:
        target.write(source.read())
    os.chown(f'{server.data}/{name}', 65534, 65534)
    os.chmod(f'{server.data}/{name}', 0o600)
server.run("ALTER SYSTEM SET ssl_cert_file = 'server.pem'")
server.run("ALTER SYSTEM SET ssl_key_file = 'server.key'")
server.run('ALTER SYSTEM SET ssl = on')
server.run('SELECT pg_reload_conf()')
true('PostgreSQL has TLS', at_last(lambda: server.run('SHOW ssl') == [('on',)]))
trusted = f'?sslmode=verify-full&sslrootcert={certificates()}/'
words = ['-c', 'pages', '--password-file', secret, '-u', 'follower']
url = server.url(trusted + 'ca.pem', user='').replace('@', '')
follower = Follower(belt, *words, url).wait_until(True)
removes('TLS and a password', ['page:1'], ['2'], "INSERT INTO pages VALUES ('1', 'b')")
equal('the connection is encrypted', [(True,)], server.run(
    "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'follower'"))
with open(secret, 'w', encoding='ascii') as file:
    file.write('second')
server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'follower'")
true('a wrong password is refused', at_last(lambda: 'password authentication failed' in follower.said()),
     follower.said())
server.run("ALTER USER follower PASSWORD 'second'")
follower.wait_until(True)
true('it follows when the password is right', 'second' not in follower.said())
follower.stop('TLS and a password')
follower = Follower(belt, *words, server.url(trusted + 'stranger.pem', user='').replace('@', ''))
true('TLS: a certificate of an authority that is not trusted is refused', at_last(
    lambda: 'certificate verify failed' in follower.said()), follower.said())
follower.stop('TLS: a certificate of an authority that is not trusted')
finish()
