#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# offline_locks.sh - locks of programs on many machines that share a database.
#
#	offline_locks.sh [CONNINFO]
#
# Shows an offline lock manager, as Martin Fowler's Pessimistic Offline Lock has it: a
# lock is a row of a table, its primary key the type and the key of what is locked. A
# key that is violated means that another has it. Nothing tells the database that a
# worker is dead, so locks age: the lease is over when the database's clock says so.
#
# CONNINFO says how to reach a PostgreSQL (HASHBELT_STORE does if it is left out), and
# hbctl must have been built with libpq. The table hashbelt_example is made there, and
# stays; all locks in it are released at first. Each hbctl is a client of its own, and
# may be on another machine.
#
# Relies on: of all who ask at once one gets the lock; a token is larger with each grant;
# a lease is over by the database's clock, whatever the clients' clocks say.
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

# on COMMAND ARGUMENT... - a command on the locks of the example's table.
on() {
	command=$1
	shift
	hbctl "$command" --table hashbelt_example "$@"
}

# show ARGUMENT... - print such a command and run it.
show() {
	echo "\$ hbctl $*"
	on "$@"
}

# no ARGUMENT... - the same for one whose answer is to be "no".
no() {
	echo "\$ hbctl $*"
	status=0
	on "$@" >/dev/null 2>&1 || status=$?
	[ $status = 1 ] || broken "status $status where it should be no"
	echo "(no)"
}

# grant ARGUMENT... - take a lock; sets token.
grant() {
	echo "\$ hbctl lock $*"
	token=$(on lock "$@") || broken "the lock was not granted"
}

# write OWNER TOKEN - something that the lock guards, which has seen tokens before.
seen=0
write() {
	if [ "$2" -ge "$seen" ]; then
		seen=$2
		echo "$1 writes: stored"
	else
		echo "$1 writes: refused, the token is old"
	fi
}

say "A table, and nobody has a lock."
show lock --create-table
for owner in ann bob; do
	on release --owner $owner >/dev/null
done

say "One has it, and another has not; who has it may take it again."
grant invoice:17 --owner ann --ttl 10m
first=$token
no lock invoice:17 --owner bob
grant invoice:17 --owner ann --ttl 10m
[ "$token" = "$first" ] || broken "the same owner has the same token"
no unlock invoice:17 --owner bob

say "All locks of one owner are released in one call."
grant invoice:18 --owner ann
grant customer:4 --owner ann
show release --owner ann

say "Bob has it now, and is held up for longer than his lease. Ann waits until it is
over by the database's clock; Bob's late write is refused, for his token."
grant invoice:17 --owner bob --ttl 1s
bob=$token
[ "$bob" -gt "$first" ] || broken "a token grows with each grant"
write bob "$bob"
grant invoice:17 --owner ann --wait 1m
[ "$token" -gt "$bob" ] || broken "a token grows with each grant"
write ann "$token"
write bob "$bob"
no unlock invoice:17 --owner bob

say "A command runs under a lock, which is given back behind it."
no lock invoice:17 --owner bob -- echo "not run"
show unlock invoice:17 --owner ann
show lock invoice:17 --owner bob -- echo "run under the lock"
no unlock invoice:17 --owner bob
