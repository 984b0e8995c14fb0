#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# etcdctl-lost-lock.sh - what etcdctl does with its command when it has lost the lock.
#
# "etcdctl lock --ttl 5 NAME COMMAND" runs the command while it holds the lock. It pauses for longer than its lease,
# with the command, as in a container that is frozen, and another client is granted the lock. When the first one goes
# on, it says nothing: its command is sent no signal, works beside that of the other client, and etcdctl exits with the
# command's status, 0. Without a command etcdctl notices the same, and fails with "session expired". etcdctl 3.5.30.
#
# Needs root, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
clients=
# shellcheck disable=SC2329,SC2317 # called by the trap
clean() {
	for client in $clients; do
		kill -s KILL -- "-$client" 2>/dev/null || true
	done
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$work"
}
trap clean EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=etcd-server=3.5.30-2,etcd-client=3.5.30-2 \
	--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' sid "$root" "$mirror" \
	2>"$work/log" || {
	cat "$work/log"
	exit 1
}
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)

# run PROGRAM WORD... - replace the shell by a program of the root directory, in a process group of its own. Its working
# directory has the socket of the server.
run() {
	program=$1
	shift
	cd "$work"
	exec setsid "$loader" --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
		"$root/usr/bin/$program" "$@"
}

# ask WORD... - replace the shell by etcdctl.
ask() {
	run etcdctl --endpoints unix://localhost:1 "$@"
}

# until_there FILE - wait until a program has written to it.
until_there() {
	tries=0
	while [ ! -s "$work/$1" ]; do
		tries=$((tries + 1))
		[ $tries -lt 600 ]
		sleep 0.1
	done
}

# The commands under the lock: each says that it has begun, and ends when it is told to.
cat >"$work/command" <<'END'
trap 'echo "$1: a signal" >>signals' TERM INT HUP
echo >"$1.in"
while [ ! -e "$1.end" ]; do
	[ ! -e "$1.ask" ] || echo >"$1.works"
	sleep 0.1
done
END
(run etcdctl version) | head -n 1
run etcd --data-dir store --listen-client-urls unix://localhost:1 --advertise-client-urls unix://localhost:1 \
	--listen-peer-urls unix://localhost:2 >"$work/log" 2>&1 &
server=$!
until (ask endpoint health) >"$work/health" 2>&1; do
	kill -0 $server
	sleep 0.2
done
ask lock --ttl 5 job sh command first >"$work/log" &
first=$!
clients=$first
ask lock --ttl 5 alone >"$work/alone" 2>&1 &
alone=$!
clients="$clients $alone"
until_there first.in
until_there alone
kill -s STOP -- "-$first" "-$alone"
ask lock --ttl 5 job sh command second >"$work/log" &
second=$!
clients="$clients $second"
until_there second.in
while [ "$(ask get --prefix alone)" ]; do
	sleep 0.2
done
kill -s CONT -- "-$first" "-$alone"
status=0
wait $alone || status=$?
{
	echo "without a command: $(sed -n 's/^Error: //p' "$work/alone"), status $status"
	sleep 5
	echo >"$work/first.ask"
	until_there first.works
	kill -0 $second
	echo "with a command: 5 s later it works beside that of the other client"
} >"$work/found"
echo >"$work/first.end"
status=0
wait $first || status=$?
echo "with a command: it ends, status $status" >>"$work/found"
echo >"$work/second.end"
wait $second
clients=
[ ! -e "$work/signals" ] || cat "$work/signals" >>"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
without a command: session expired, status 1
with a command: 5 s later it works beside that of the other client
with a command: it ends, status 0
END
diff "$work/expected" "$work/found"
