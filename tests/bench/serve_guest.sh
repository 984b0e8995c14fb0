#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# serve_guest.sh - in the guest of serve.sh: make the counts, and print a line for each.
set -eu

# count PROTOCOL PEER OPERATIONS - count the operations of a peer of compare.c.
count() {
	/payload/hbserve --protocol "$1" -t 1 -b default -s "/tmp/$1" &
	server=$!
	while [ ! -S "/tmp/$1" ]; do
		sleep 0.1
	done
	./compare --json --unit instructions --entries 1000 --rounds 40 --operations "$3" --server $server \
		"$2=/tmp/$1" | sed "s/^/hbserve $1: /"
	kill $server
	wait $server || true
}

# The kernel's work after booting would be counted otherwise.
sleep 3
taskset -p 1 $$ >/dev/null
insmod hashbelt.ko
mkdir -p /tmp
count memcached hbserve "get hit;put replace;get, 64 a call"
count redis hbserve-redis "get hit;put replace;count;get, 64 a call"
