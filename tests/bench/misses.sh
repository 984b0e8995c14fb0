#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# misses.sh [WORKLOAD]... - play workloads of misses.py on a belt, memcached and Redis with the same memory,
# in a guest; by default those of docs/performance.md.
#
#	SERVERS=sid	beside the servers of Debian's unstable, not those of this machine's release
#	MEGABYTES=N	memory of each cache (4)
#	REQUESTS=N	requests of a workload, about so many (10000)
#	PACE=N		least microseconds for a request, in which all caches handle it (4000)
set -eu
unset CDPATH

top=$(cd "$(dirname "$0")/../.." && pwd)
payload=$top/.cache/build/payload-bench-python
make -s -C "$top/tests" bench-python SERVERS="${SERVERS-}"
[ $# != 0 ] ||
	set -- zipf-0.8 zipf-1.0 zipf-1.0-4 zipf-1.2 scan scan-4 shift shift-4 cluster-12
"$top/tests/need.sh" python3
"$payload/misses.py" make "$payload/traces" "${MEGABYTES:-4}" "${REQUESTS:-10000}" "$@"
# A task that waits for another one on the same processor does not wait for a wakeup of another.
# shellcheck disable=SC2016 # for the guest's shell to expand
exec "$top/tests/vm/run.sh" --memory 2048 --silence 1800 "$payload" sh -c '
	insmod hashbelt.ko && taskset -p 1 $$ >/dev/null &&
		PYTHONPATH=/payload/bindings/python /usr/bin/python3 misses.py play traces "$@" &&
		rmmod hashbelt' sh "${MEGABYTES:-4}" "${PACE:-4000}"
