# SPDX-License-Identifier: GPL-2.0-only
"""django_caches.py SOCKET - Django's RedisCache and django-redis, on a server."""
import sys

import django
from django.conf import settings
from django.core.cache import caches

from show import about, show

PATH = sys.argv[1]
settings.configure(CACHES={
    'default': {'BACKEND': 'django.core.cache.backends.redis.RedisCache', 'LOCATION': f'unix://{PATH}',
                'TIMEOUT': 1000, 'KEY_PREFIX': 'own'},
    'other': {'BACKEND': 'django_redis.cache.RedisCache', 'LOCATION': f'unix://{PATH}?db=1', 'TIMEOUT': 1000},
}, SECRET_KEY='not secret', USE_TZ=True)
django.setup()

import redis

client = redis.Redis(unix_socket_path=PATH)


def same(name, cache):
    """Calls that both caches have."""
    show(f'{name}: clear', cache.clear)
    show(f'{name}: get of a missing key', lambda: cache.get('none', 'default'))
    show(f'{name}: set and get', lambda: (cache.set('k', {'name': 'Ann'}), cache.get('k')))
    show(f'{name}: add', lambda: [cache.add('k', 1), cache.add('a', 1, 1000)])
    show(f'{name}: set_many and get_many', lambda: (cache.set_many({'b': 2, 'c': b'3'}, 1000),
                                                    sorted(cache.get_many(['a', 'b', 'c', 'none']).items())))
    show(f'{name}: incr and decr', lambda: [cache.incr('a'), cache.incr('a', 40), cache.decr('a', 2)])
    show(f'{name}: incr of a missing key', lambda: cache.incr('none'))
    show(f'{name}: touch', lambda: [cache.touch('k', 500), cache.touch('none', 500)])
    show(f'{name}: without a time', lambda: [cache.set('ever', 1, None), cache.touch('ever', None), cache.get('ever')])
    show(f'{name}: a time of 0', lambda: [cache.set('never', 1, 0), cache.get('never')])
    show(f'{name}: get_or_set', lambda: [cache.get_or_set('made', lambda: 5), cache.get_or_set('made', lambda: 6)])
    show(f'{name}: has_key', lambda: [cache.has_key('k'), 'none' in cache])
    show(f'{name}: a version', lambda: [cache.set('v', 1, version=2), cache.get('v'), cache.incr_version('v', version=2),
                                        cache.get('v', version=3)])
    show(f'{name}: delete', lambda: [cache.delete('k'), cache.delete('k'), cache.delete_many(['b', 'c']),
                                     cache.get('b')])


own, other = caches['default'], caches['other']
same('Django', own)
same('django-redis', other)
own.set('k', 1)
show('Django: the time that an entry has', lambda: about(1000, client.ttl('own:1:k')))
show('Django: clear leaves another database as it is', lambda: [own.clear(), own.get('k'), other.get('made')])
show('django-redis: ttl', lambda: [about(1000, other.ttl('made')), other.ttl('ever'), other.ttl('none')])
show('django-redis: expire, pttl, persist', lambda: [other.expire('made', 100), about(100000, other.pttl('made')),
                                                     other.persist('made'), other.ttl('made')])
show('django-redis: nx', lambda: [other.set('nx', 1, nx=True), other.set('nx', 2, nx=True)])
show('django-redis: incr with ignore_key_check', lambda: other.incr('new', 2, ignore_key_check=True))
show('django-redis: keys', lambda: [sorted(other.keys('ma*')), sorted(other.iter_keys('ma*'))])
show('django-redis: delete_pattern', lambda: [other.delete_pattern('m*'), other.get('made')])


def locked():
    """One lock excludes another, and ends."""
    lock = other.lock('lock', timeout=1000)
    found = [lock.acquire(blocking=False), other.lock('lock', timeout=1000).acquire(blocking=False), lock.extend(1000)]
    lock.reacquire()
    lock.release()
    return found + [other.get('lock')]


show('django-redis: lock', locked)
