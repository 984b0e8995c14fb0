#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# pgbouncer-own-notify.sh - what a client of pgbouncer that listens is told.
#
# With pool_mode=transaction, LISTEN is known not to work. But it returns no error, and a notification that the
# client sends itself comes, before the end of its query: so it proves nothing. Notifications of others are
# dropped while no client has the session. With pool_mode=session both come.
# pgbouncer 1.18.0 and PostgreSQL 15 of Debian 12.
#
# Needs root, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
root=$work/root
# shellcheck disable=SC2329,SC2317 # called by the trap
cleanup() {
	for file in "$root"/tmp/*.pid "$root/tmp/data/postmaster.pid"; do
		[ ! -e "$file" ] || kill -INT "$(head -n 1 "$file")" || true
	done 2>/dev/null
	wait
	rm -rf "$work"
}
trap cleanup EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
mmdebstrap --quiet --variant=extract --include=dash,coreutils,libc-bin,pgbouncer=1.18.0-1+deb12u1,postgresql-15 \
	--aptopt='APT::Install-Recommends "false"' bookworm "$root" "$mirror" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
echo nobody:x:65534:65534::/:/bin/sh >"$root/etc/passwd"
mkdir -p "$root/dev" "$root/tmp"
: >"$root/dev/null"
chmod 666 "$root/dev/null"
chmod 1777 "$root/tmp"
bin=/usr/lib/postgresql/15/bin
port=$((20000 + $$ % 20000))

# inside COMMAND... - run a command in the root directory as nobody.
inside() {
	env -i PATH=$bin:/usr/sbin:/usr/bin:/bin LC_ALL=C chroot --userspec=65534:65534 "$root" "$@"
}

inside initdb -D /tmp/data --no-sync --auth=trust >"$work/log"
inside postgres -D /tmp/data -k /tmp -c listen_addresses=127.0.0.1 -c fsync=off -c dynamic_shared_memory_type=mmap \
	-p $port >"$work/log" 2>&1 &
pool=$port
for mode in session transaction; do
	pool=$((pool + 1))
	cat >"$root/tmp/$mode.ini" <<END
[databases]
* = host=127.0.0.1 port=$port user=nobody
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pool
unix_socket_dir =
auth_type = any
pool_mode = $mode
pidfile = /tmp/$mode.pid
END
	inside pgbouncer -q "/tmp/$mode.ini" 2>"$work/log" &
done

# query PORT WORD... - run psql.
query() {
	at=$1
	shift
	inside psql -h 127.0.0.1 -p "$at" -U nobody -q -t postgres "$@"
}

pool=$port
for mode in session transaction; do
	pool=$((pool + 1))
	until query $pool -c '' 2>"$work/log"; do
		sleep 0.2
	done
	{
		echo "LISTEN c; NOTIFY c, 'own';"
		sleep 1
		query $port -c "NOTIFY c, 'of another'"
		sleep 1
		echo 'SELECT 1;'
	} | query $pool >"$work/told"
	echo "pool_mode=$mode: $(sed -n 's/.*payload "\([^"]*\)".*/"\1"/p' "$work/told" | paste -s -d ' ')"
done >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
pool_mode=session: "own" "of another"
pool_mode=transaction: "own"
END
diff "$work/expected" "$work/found"
