#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# offline_locks.sh - locks for programs on several machines that share a database.
#
#	offline_locks.sh [CONNINFO]
#
# Shows an offline lock manager, Martin Fowler's Pessimistic Offline Lock. A lock is a
# row of a table; the primary key is the type and the key of the locked object. A
# violated key means that another owner has the lock. Nothing tells the database that a
# worker has died, so each lock has a lease, which ends by the database's clock.
#
# CONNINFO says how to reach a PostgreSQL; without it, HASHBELT_STORE does. hbctl-store
# must be installed beside hbctl. The script makes the table hashbelt_example there, does not
# drop it, and begins by releasing the locks of ann and bob in it. Each hbctl is a
# separate client, and could run on another machine.
#
# Relies on: of several clients that ask at once one gets the lock; each grant has a
# larger token; a lease ends by the database's clock, whatever the clients' clocks say.
set -eu

case ${1-} in
-h | --help)
	echo "usage: offline_locks.sh [CONNINFO]"
	echo "Locks in a PostgreSQL. CONNINFO: how to connect (HASHBELT_STORE)."
	exit 0
	;;
-*) set -- "" ;;
esac
if [ $# -gt 1 ] || [ -z "${1-${HASHBELT_STORE-}}" ]; then
	echo "usage: offline_locks.sh [CONNINFO]" >&2
	exit 2
fi
[ $# = 0 ] || export HASHBELT_STORE="$1"

say() {
	printf '\n%s\n' "$*"
}

broken() {
	echo "offline_locks.sh: broken: $*" >&2
	exit 1
}

# on COMMAND ARGUMENT... - run a command of hbctl on the example's table.
on() {
	command=$1
	shift
	hbctl "$command" --table hashbelt_example "$@"
}

# show ARGUMENT... - print a command of hbctl and run it.
show() {
	echo "\$ hbctl $*"
	on "$@"
}

# no ARGUMENT... - the same; the command must exit with 1 ("no").
no() {
	echo "\$ hbctl $*"
	status=0
	on "$@" >/dev/null 2>&1 || status=$?
	[ $status = 1 ] || broken "hbctl $*: expected exit status 1, found $status"
	echo "(no)"
}

# grant ARGUMENT... - take a lock; sets token.
grant() {
	echo "\$ hbctl lock $*"
	token=$(on lock "$@") || broken "hbctl lock $*: the lock was not granted"
}

# write OWNER TOKEN - a write to the storage that the lock guards. The storage refuses a
# token smaller than the largest it has seen.
seen=0
write() {
	if [ "$2" -ge "$seen" ]; then
		seen=$2
		echo "$1 writes: stored"
	else
		echo "$1 writes: refused, the token is old"
	fi
}

say "The table is made. No lock has an owner."
show lock --create-table
for owner in ann bob; do
	on release --owner $owner >/dev/null
done

say "Ann locks an invoice. Bob is refused. Ann may lock it again."
grant invoice:17 --owner ann --ttl 10m
first=$token
no lock invoice:17 --owner bob
grant invoice:17 --owner ann --ttl 10m
[ "$token" = "$first" ] || broken "lock by the owner returns the same token"
no unlock invoice:17 --owner bob

say "All locks of one owner are released in one call."
grant invoice:18 --owner ann
grant customer:4 --owner ann
show release --owner ann

say "Bob locks the invoice, and is delayed for longer than the lease. Ann waits until the
lease is over by the database's clock. Bob's late write is refused: its token is old."
grant invoice:17 --owner bob --ttl 1s
bob=$token
[ "$bob" -gt "$first" ] || broken "a token grows with each grant"
write bob "$bob"
grant invoice:17 --owner ann --wait 1m
[ "$token" -gt "$bob" ] || broken "a token grows with each grant"
write ann "$token"
write bob "$bob"
no unlock invoice:17 --owner bob

say "A command runs under a lock, which is released when the command ends."
no lock invoice:17 --owner bob -- echo "not run"
show unlock invoice:17 --owner ann
show lock invoice:17 --owner bob -- echo "run under the lock"
no unlock invoice:17 --owner bob
