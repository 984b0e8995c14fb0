#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# diskcache-lock-release.sh - who has a lock of diskcache when an owner that was too slow releases it.
#
# A lock with expire=1 is to free itself when its owner has died. If the owner was only slow, the next one has the lock
# when the first one calls release(), which removes the key, also that of another owner: the second one still works, a
# third one gets the lock, and no call fails. RLock of the same module compares the owner, and its release() raises an
# error. diskcache 5.6.3.
#
# Needs root, python3, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=python3-diskcache=5.6.3-3 --aptopt='Acquire::Check-Valid-Until "false"' \
	--aptopt='APT::Install-Recommends "false"' sid "$root" "$mirror" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
cat >"$work/own.py" <<'END'
import sys
import threading
import time

import diskcache

inside = []


def work(kind, name, wait, seconds):
    """Own the lock for so long, after a wait."""
    time.sleep(wait)
    cache = diskcache.Cache(sys.argv[1])
    lock = kind(cache, kind.__name__, expire=3 if name == 'first' else 60)
    lock.acquire()
    inside.append(name)
    time.sleep(seconds)
    others = [other for other in inside if other != name]
    inside.remove(name)
    error = 'no error'
    try:
        lock.release()
    except AssertionError:
        error = 'an error'
    print(f"{kind.__name__}: {name} releases it while {' and '.join(others) or 'no other'} works: {error}", flush=True)


print('#', diskcache.__version__)
for kind in diskcache.Lock, diskcache.RLock:
    threads = [threading.Thread(target=work, args=(kind, *words), daemon=True)
               for words in (('first', 0, 6), ('second', 1, 9), ('third', 8, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
END
PYTHONPATH=$root/usr/lib/python3/dist-packages timeout 100 python3 "$work/own.py" "$work/cache" >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
Lock: first releases it while second works: no error
Lock: third releases it while second works: no error
Lock: second releases it while no other works: no error
RLock: first releases it while second works: an error
RLock: second releases it while no other works: no error
RLock: third releases it while no other works: no error
END
grep -v '^#' "$work/found" | diff "$work/expected" -
