#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# etcd-restart-lease.sh - how long a lease of etcd lasts if its server is restarted.
#
# Leases and their keys survive a restart of the server. An engineer expects the remaining time to survive as well.
# But a lease of 20 s that has 9 left has all 20 again. So the lock of a client that has died is held for longer than
# its lease, and a key lives on for as long as the server restarts within the key's lease. etcd 3.4.23 of Debian 12,
# and 3.5.30.
#
# Needs root, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
port=$((20000 + $$ % 20000))
url=http://127.0.0.1:$port
peer=http://127.0.0.1:$((port + 1))

# run PROGRAM WORD... - replace the shell by a program of the root directory.
run() {
	program=$1
	shift
	ETCDCTL_API=3 exec "$loader" --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
		"$root/usr/bin/$program" "$@"
}

# ask WORD... - run etcdctl.
ask() {
	(run etcdctl --endpoints "$url" "$@")
}

# start - start the server, and wait until it answers.
start() {
	run etcd --data-dir "$root/data" --listen-client-urls "$url" --advertise-client-urls "$url" \
		--listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" 2>"$work/log" &
	server=$!
	until ask endpoint health >"$work/health" 2>&1; do
		kill -0 $server
		sleep 0.2
	done
}

# remaining - print what remains of the lease, in seconds.
remaining() {
	ask lease timetolive "$lease" | sed 's/.*remaining(\(-*[0-9]*\)s).*/\1/'
}

for release in bookworm=3.4.23-4+b4 sid=3.5.30-2; do
	root=$work/${release%%=*}
	version=${release#*=}
	mmdebstrap --quiet --variant=extract --include="etcd-server=$version,etcd-client=$version" \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' "${release%%=*}" "$root" \
		"$mirror" 2>"$work/log" || {
		cat "$work/log"
		exit 1
	}
	loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
	start
	lease=$(ask lease grant 20 | cut -d ' ' -f 2)
	ask put lock owner --lease="$lease" >"$work/log"
	sleep 10
	before=$(remaining)
	kill $server
	wait $server 2>"$work/log" || true
	start
	after=$(remaining)
	kill $server
	wait $server 2>"$work/log" || true
	server=
	echo "etcd ${version%%-*}: $before of 20 s remain before the restart, and $after after it"
	[ "$before" -lt 11 ]
	[ "$after" -gt "$((before + 5))" ]
done
