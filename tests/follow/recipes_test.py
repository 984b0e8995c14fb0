#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""recipes_test.py - the programs of examples/follow, with hbfollow.

Each gets a page from the belt, or once from the engine; gets it anew after it has changed; and what it has
fetched before a change is not stored after it.
"""

import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from follow import (DIRECTORY, HERE, Belt, Follower, PostgreSQL, Redis, at_last, equal, finish, hbctl,
                    install_functions, new_path, true)

TOP = os.path.join(HERE, '..', '..')
EXAMPLES = os.path.join(TOP, 'examples', 'follow')
sys.path.insert(0, os.path.join(TOP, 'bindings', 'python'))


def start(program, *words, **settings):
    """Start a program of the examples."""
    shell = 'python3' if program.endswith('.py') else 'sh'
    return subprocess.Popen([shell, os.path.join(EXAMPLES, program), *words], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, 'PYTHONPATH': sys.path[0], **settings})


def ask(program, *words, **settings):
    """The text that a program of the examples prints."""
    return start(program, *words, **settings).communicate()[0].rstrip('\n')


def load(name):
    """A program of the examples as a module."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(EXAMPLES, f'{name}.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gets():
    """The number of GET that Redis has executed."""
    return redis.client.info('commandstats').get('cmdstat_get', {'calls': 0})['calls']


def settle(write):
    """Wait until all that was written has been delivered: WRITE changes a key that the belt has."""
    belt.put('page:marker')
    write()
    if not at_last(lambda: not belt.has('page:marker')):
        raise RuntimeError('a change is not delivered')


def change(value):
    """Change pages in Redis, and wait until that is delivered."""
    redis.client.mset({'page:home': value, 'page:many': value})
    settle(lambda: redis.client.set('page:marker', value))


def recipe(name, get):
    """Checks of a recipe with Redis. GET returns a page."""
    change('one')
    before = gets()
    equal(f'{name}: the first call returns the page', 'one', get('home'))
    equal(f'{name}: the second call returns the page', 'one', get('home'))
    equal(f'{name}: the second call does not ask Redis', 1, gets() - before)
    change('two')
    equal(f'{name}: the page has changed', 'two', get('home'))
    before = gets()
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(get, ['many'] * 4))
    equal(f'{name}: of four callers at once, one asks Redis, and all get the page', ['two'] * 4 + [1],
          found + [gets() - before])


# A shell
redis = Redis()
belt = Belt()
follower = Follower(belt, '-v', redis.url('?prefix=page:')).wait_until(True)
url = redis.url()
recipe('page.sh', lambda name: ask('page.sh', name, REDIS=url))
change('three')
late = f'{DIRECTORY}/late.sh'
with open(late, 'w', encoding='ascii') as file:
    file.write(f"""found=$(redis-cli -e -u {url} get page:home)
hbctl -b pages put page:marker x
redis-cli -e -u {url} set page:home four >/dev/null
redis-cli -e -u {url} set page:marker x >/dev/null
while hbctl -b pages has -q page:marker; do :; done
echo "$found"
""")
equal('hbctl get --fill prints what was fetched before a change', 'three',
      hbctl('-b', 'pages', 'get', 'page:home', '--fill', '--', 'sh', late))
true('hbctl get --fill does not store what was fetched before a change', not belt.has('page:home'))
equal('page.sh prints the page as it is now', 'four', ask('page.sh', 'home', REDIS=url))

# hbserve
path = new_path('.sock')
served = subprocess.Popen(['hbserve', '-b', 'pages', '-s', path])
true('hbserve listens', at_last(lambda: os.path.exists(path)))
Gateway = load('gateway').Gateway
recipe('gateway.py', lambda name: Gateway(path).get(
    f'page:{name}', lambda: redis.client.get(f'page:{name}')).decode())
change('five')


def fetch():
    found = redis.client.get('page:home')
    change('six')
    return found


equal('gateway.py: a client gets what it has fetched before a change', b'five', Gateway(path).get('page:home', fetch))
true('gateway.py: hbserve does not store what was fetched before a change', not belt.has('page:home'))
equal('gateway.py prints the page as it is now', 'six', ask('gateway.py', path, 'home', REDIS=url))
served.terminate()
served.wait()
follower.stop('Redis')
redis.kill()

# Python
store = PostgreSQL()
install_functions(store)
with open(os.path.join(EXAMPLES, 'page.sql'), encoding='ascii') as file:
    store.run(file.read())
follower = Follower(belt, '-v', '--channel', 'page', store.url()).wait_until(True)
os.environ.update(PGHOST='127.0.0.1', PGPORT=str(store.port), PGUSER='nobody', PGDATABASE='postgres')


def write(statement, *values):
    """Change the table, and wait until that is delivered."""
    store.run(statement, *values)
    settle(lambda: store.run("NOTIFY page, 'page:marker'"))


write("INSERT INTO page VALUES ('home', 'one')")
equal('page.py prints the page', 'one', ask('page.py', 'home'))
module = load('page')
page = module.page
store.run("SET hashbelt.quiet = on; UPDATE page SET content = 'unseen'; RESET hashbelt.quiet")
equal('page.py: the second call does not ask PostgreSQL', 'one', page('home'))
write("UPDATE page SET content = 'two'")
equal('page.py: the page has changed', 'two', page('home'))
write("UPDATE page SET name = 'start'")
equal('page.py: the page has got another name', [None, 'two'], [page('home'), page('start')])
write('TRUNCATE page')
equal('page.py: the table was truncated', None, page('start'))
write("INSERT INTO page VALUES ('late', 'one')")


@module.belt.cached(key=str)
def slow(name):
    found = store.run('SELECT content FROM page WHERE name = %s', name)[0][0]
    write('UPDATE page SET content = %s', 'two')
    return found


equal('page.py: a caller gets what was fetched before a change', 'one', slow('late'))
true('page.py: what was fetched before a change is not stored', not belt.has('late'))
equal('page.py returns the page as it is now', 'two', page('late'))
follower.stop('PostgreSQL')
finish()
