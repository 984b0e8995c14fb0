#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh MEGABYTES REQUESTS PACE WORKLOAD... - in a guest: play workloads on belts and servers,
# each with servers of its own, that have nothing in memory yet.
set -eu

megabytes=$1 requests=$2 pace=$3
shift 3

PATH=$PATH:/usr/bin
insmod hashbelt.ko
echo "memcached is $(memcached -V | cut -d ' ' -f 2), Redis $(redis-server --version | cut -d = -f 2 | cut -d ' ' -f 1)"
# A task that waits for another one on the same processor does not wait for a wakeup of another.
taskset -p 1 $$ >/dev/null
for workload; do
	sockets=$(mktemp -d)
	servers=
	memcached -u root -t 1 -m "$megabytes" -s "$sockets/memcached" &
	servers="$servers $!"
	for policy in allkeys-lru:lru allkeys-lfu:lfu volatile-ttl:ttl; do
		redis-server --port 0 --unixsocket "$sockets/redis-${policy#*:}" --save '' \
			--appendonly no --maxmemory-policy "${policy%:*}" --loglevel warning \
			--logfile "$sockets/log" &
		servers="$servers $!"
	done
	./play "$sockets" $((megabytes * 1024 * 1024)) "$requests" "$pace" "$workload"
	# shellcheck disable=SC2086 # process numbers
	kill $servers
	wait
done
rmmod hashbelt
