#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# django-incr-deadline.sh - when a counter of Django's caches expires that is counted up.
#
# A view limits requests by a counter, cache.add(user, 0, timeout=2) and cache.incr(user). In memory the counter expires
# two seconds after the add(). In a cache of files or in a database incr() stores a new value with the default time of
# the cache, 300 s, which begins anew with each request: a user that goes on asking is refused for ever, and where the
# limit is for a day, five minutes end it. incr_version() does so in each cache, also in memory. inc() of cachelib does
# as well, in memory and in files. With Redis and memcached incr() leaves the time as it is. Django 5.2.18 and cachelib
# 0.17.0; Django 3.2.25 does the same.
#
# Needs root, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=python3,python3-django=3:5.2.18-2,python3-cachelib=0.17.0-1 \
	--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' sid "$root" "$mirror" \
	2>"$work/log" || {
	cat "$work/log"
	exit 1
}
cat >"$root/tmp/count.py" <<'END'
import tempfile
import time

import cachelib
import django
from django.conf import settings

BACKENDS = 'django.core.cache.backends'
settings.configure(
    DATABASES={'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}},
    CACHES={'default': {'BACKEND': f'{BACKENDS}.locmem.LocMemCache'},
            'files': {'BACKEND': f'{BACKENDS}.filebased.FileBasedCache', 'LOCATION': tempfile.mkdtemp()},
            'database': {'BACKEND': f'{BACKENDS}.db.DatabaseCache', 'LOCATION': 'cache'}})
django.setup()

from django.core.cache import caches
from django.core.management import call_command

call_command('createcachetable')
print('#', django.__version__)
names = {'default': 'memory', 'files': 'files', 'database': 'a database'}
own = {'memory': cachelib.SimpleCache(), 'files': cachelib.FileSystemCache(tempfile.mkdtemp())}
for name in names:
    for key in 'read', 'counted', 'moved':
        caches[name].add(key, 0, timeout=2)
    caches[name].get('read')
    caches[name].incr('counted')
    caches[name].incr_version('moved')
for cache in own.values():
    cache.add('read', 0, timeout=2)
    cache.add('counted', 0, timeout=2)
    cache.inc('counted')


def look(found):
    return 'gone' if found is None else 'present'


time.sleep(4)
for name, where in names.items():
    cache = caches[name]
    print(f"Django in {where}: {look(cache.get('read'))} after get(), {look(cache.get('counted'))} after incr(),",
          f"{look(cache.get('moved', version=2))} after incr_version()")
for where, cache in own.items():
    print(f"cachelib in {where}: {look(cache.get('read'))} without inc(), {look(cache.get('counted'))} after inc()")
END
for folder in lib lib64; do
	[ -e "$root/$folder" ] || ln -s usr/$folder "$root/$folder"
done
mkdir -p "$root/dev"
[ -e "$root/dev/urandom" ] || mknod -m 666 "$root/dev/urandom" c 1 9
timeout 60 chroot "$root" /usr/bin/python3 /tmp/count.py >"$work/found"
echo "Four seconds after a put for two seconds:"
cat "$work/found"
cat >"$work/expected" <<'END'
Django in memory: gone after get(), gone after incr(), present after incr_version()
Django in files: gone after get(), present after incr(), present after incr_version()
Django in a database: gone after get(), present after incr(), present after incr_version()
cachelib in memory: gone without inc(), present after inc()
cachelib in files: gone without inc(), present after inc()
END
grep -v '^#' "$work/found" | diff "$work/expected" -
