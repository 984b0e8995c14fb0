#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# memory.t SERVER OPERATIONS - the memory of hbserve does not grow with the number of operations. SERVER is
# hbserve, with the module, in a guest; or hbserve-plain, with entries in its own memory.
set -u

server=$1 operations=$2
load=$(dirname "$0")/../load.py
directory=$(mktemp -d)
[ "$server" != hbserve ] || hbctl create main --ttl 1h || exit 1
"$server" -s "$directory/socket" -b main -t 4 >"$directory/log" 2>&1 &
process=$!
while [ ! -S "$directory/socket" ] && kill -0 $process 2>/dev/null; do
	sleep 0.01
done

# used - print the kilobytes of the server's memory.
used() {
	sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$process/status"
}

count=0
# check NAME COMMAND... - a check: the command succeeds.
check() {
	name=$1
	shift
	count=$((count + 1))
	"$@" || {
		echo "# tests/serve/full/memory.t: expected status 0, found $?"
		sed 's/^/# /' "$directory/log"
		printf 'not '
	}
	echo "ok $count - $name"
}

check "random requests of four clients" "$load" "$directory/socket" 4 $((operations / 20)) 1
before=$(used)
check "$operations random requests of four clients" "$load" "$directory/socket" 4 "$operations" 2
after=$(used)
echo "# $before KiB before, $after KiB after"
check "the memory of $server has grown by at most 4 MiB" [ $((after - before)) -le 4096 ]
kill -TERM $process
check "$server ends with status 0" wait $process
echo "1..$count"
rm -rf "$directory"
