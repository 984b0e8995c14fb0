# SPDX-License-Identifier: GPL-2.0-only
"""python_caches.py SOCKET - limits, dogpile.cache, flask-session, cachelib and aiocache on a server."""
import asyncio
import sys

import aiocache
import flask
import flask_session
import limits
import redis
import redis.asyncio
from aiocache.lock import RedLock
from cachelib.redis import RedisCache
from dogpile.cache import make_region

from show import about, show

PATH = sys.argv[1]
client = redis.Redis(unix_socket_path=PATH)
client.flushdb()

storage = limits.storage.storage_from_string(f'redis+unix://{PATH}')
fixed = limits.strategies.FixedWindowRateLimiter(storage)
two = limits.parse('2/day')
show('limits: a fixed window', lambda: [fixed.hit(two, 'a') for _ in range(3)])
show('limits: test, and what is left', lambda: [fixed.test(two, 'a'), fixed.get_window_stats(two, 'a').remaining])
show('limits: a larger cost', lambda: [fixed.hit(two, 'b', cost=2), fixed.hit(two, 'b')])
show('limits: the time of a window', lambda: about(86400, client.ttl(client.keys('LIMITS*')[0])))
show('limits: clear', lambda: [fixed.clear(two, 'a'), fixed.hit(two, 'a')])
show('limits: check', storage.check)
show('limits: reset', lambda: [storage.reset(), client.keys('LIMITS*')])
moving = limits.strategies.MovingWindowRateLimiter(storage)
show('limits: a moving window', lambda: moving.hit(two, 'a'))
sliding = limits.strategies.SlidingWindowCounterRateLimiter(storage)
show('limits: a sliding window', lambda: sliding.hit(two, 'a'))
client.flushdb()

region = make_region().configure('dogpile.cache.redis', expiration_time=1000, arguments={
    'url': f'unix://{PATH}', 'redis_expiration_time': 2000, 'distributed_lock': True, 'thread_local_lock': False})
show('dogpile: get_or_create', lambda: [region.get_or_create('k', lambda: 1), region.get_or_create('k', lambda: 2)])
show('dogpile: the time of an entry', lambda: about(2000, client.ttl('k')))
show('dogpile: set_multi and get_multi', lambda: (region.set_multi({'a': 1, 'b': [2]}),
                                                  region.get_multi(['a', 'b'])))
show('dogpile: delete', lambda: (region.delete('k'), region.get('k') is region.get('none')))
client.flushdb()

app = flask.Flask('pages')
app.config.update(SESSION_TYPE='redis', SESSION_REDIS=client, PERMANENT_SESSION_LIFETIME=1000)
flask_session.Session(app)


@app.route('/visit')
def visit():
    flask.session['visits'] = flask.session.get('visits', 0) + 1
    return f'visit {flask.session["visits"]}'


@app.route('/leave')
def leave():
    flask.session.clear()
    return 'left'


ann, bob = app.test_client(), app.test_client()
show('flask-session: visits', lambda: [ann.get('/visit').text, ann.get('/visit').text, bob.get('/visit').text])
show('flask-session: the time of a session', lambda: about(1000, client.ttl(client.keys('session:*')[0])))
show('flask-session: a visitor leaves', lambda: [ann.get('/leave').text, len(client.keys('session:*')),
                                                 ann.get('/visit').text])
for key in client.keys('session:*'):
    client.pexpire(key, 0)
show('flask-session: after its time', lambda: bob.get('/visit').text)
client.flushdb()

cache = RedisCache(client, default_timeout=1000, key_prefix='p:')
show('cachelib: set, get, add', lambda: [cache.set('k', [1]), cache.get('k'), cache.add('k', 2), cache.add('a', 2),
                                         cache.get('none')])
show('cachelib: the time of an entry', lambda: [about(1000, client.ttl('p:k')), about(1000, client.ttl('p:a'))])
show('cachelib: many', lambda: [sorted(cache.set_many({'b': 1, 'c': 2})), cache.get_many('b', 'none'), cache.has('c')])
show('cachelib: inc and dec', lambda: [cache.set('n', 1), cache.inc('n', 5), cache.dec('n', 2)])
show('cachelib: without a time', lambda: [cache.set('ever', 1, 0), client.ttl('p:ever')])
show('cachelib: delete and clear', lambda: [cache.delete('k'), client.set('other', 1), cache.clear(), cache.get('a'),
                                            client.get('other')])
client.flushdb()


async def calls():
    """aiocache, whose connection is that of redis-py."""
    async def show_async(name, call):
        try:
            print(f'aiocache: {name}: {await call!r}')
        except Exception as error:
            print(f'aiocache: {name}: {type(error).__name__}: {error}')

    cache = aiocache.Cache(aiocache.Cache.REDIS, namespace='n:')
    cache.client = redis.asyncio.Redis(unix_socket_path=PATH)
    await show_async('set', cache.set('k', 'v', ttl=1000))
    await show_async('get', cache.get('k'))
    await show_async('ttl of a fraction', cache.set('f', 'v', ttl=0.5))
    await show_async('add', cache.add('a', 1, ttl=1000))
    await show_async('add of a present key', cache.add('k', 'w'))
    await show_async('multi_set', cache.multi_set([('b', '2'), ('c', '3')], ttl=1000))
    await show_async('multi_get', cache.multi_get(['b', 'none', 'c']))
    await show_async('increment', cache.increment('a', 41))
    await show_async('expire', cache.expire('k', 500))
    await show_async('exists', cache.exists('k'))
    await show_async('a lock', one_lock(cache))
    await show_async('optimistic lock', optimistic(cache))
    await show_async('delete', cache.delete('k'))
    await show_async('clear', cache.clear(namespace='n:'))
    await show_async('get after clear', cache.get('a'))
    await cache.client.aclose()


async def one_lock(cache):
    async with RedLock(cache, 'lock', 1000):
        held = client.exists('n:lock-lock')
    return [held, client.exists('n:lock-lock')]


async def optimistic(cache):
    """A value in the place of the one that was read, and not of another."""
    found = []
    for between in (None, 'x'):
        await cache.set('o', 'old', ttl=1000)
        async with aiocache.lock.OptimisticLock(cache, 'o') as lock:
            if between:
                await cache.set('o', between)
            try:
                found.append(await lock.cas('new', ttl=1000))
            except aiocache.lock.OptimisticLockError:
                found.append('refused')
    return found


asyncio.run(calls())
