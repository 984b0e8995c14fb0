#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# hold.t - waiting for a lock in a store, and commands that run under one: signals, holders
# that are killed, a server that is restarted, and many processes at once.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

# shellcheck source=tests/store/server.sh
. "$(dirname "$0")/server.sh"
# shellcheck source=tests/hbctl/locks.sh
. "$(dirname "$0")/../hbctl/locks.sh"

in_store lock --create-table || exit 1

# lock_later NAME ARGUMENT... - start hbctl lock in the background, under the program $under.
under='env'
lock_later() {
	name=$1
	shift
	# A script starts background commands with SIGINT ignored, and nohup with SIGHUP.
	# shellcheck disable=SC2016 # for perl
	later "$name" perl -e '$SIG{INT} = $SIG{HUP} = "DEFAULT"; exec @ARGV' \
		"$under" hbctl lock --store "$store" "$@"
}

# shellcheck disable=SC2317 # called by at_last
# is_waiting COUNT - true if COUNT clients wait for a lock.
is_waiting() {
	is_sql "$1" "SELECT count(*) FROM pg_stat_activity
		WHERE application_name = 'hbctl' AND state = 'idle'
		AND query LIKE 'SELECT owner%'"
}

lease_of() {
	sql "SELECT lease FROM hashbelt_lock WHERE object_key = '$1'"
}

# is_renewed NAME LEASE - true if the lease is no longer LEASE.
is_renewed() {
	[ "$(lease_of "$1")" != "$2" ]
}

# Waiting
token=$(in_store lock x --owner a --ttl 1h)
is 'lock --wait exits with 1 and names the owner when its time is over' 1 '' \
	"lock 'x' is still held by 'a', for * now and * more" in_store lock x --owner b --wait 300ms
is 'lock --wait 0 of a held lock exits with 1 at once' 1 '' "lock 'x' is held by 'a', *" \
	in_store lock x --owner b --wait 0
lock_later waiter x --owner b --wait forever
at_last is_waiting 1
in_store unlock x --owner a
at_last has_ended waiter
larger 'unlock grants the lock to a waiter, with a larger token' "$(cat "$temporary/waiter.out")" "$token"
result 'the table names the waiter as owner after unlock' "$(is_sql "b" 'SELECT owner FROM hashbelt_lock' ||
	lock_row x)"
lock_later waiter x --owner c --wait 1h
at_last is_waiting 1
in_store release --owner b >/dev/null
at_last has_ended waiter
result 'release grants the lock to a waiter' "$(is_sql c 'SELECT owner FROM hashbelt_lock' ||
	lock_row x)"
in_store renew x --owner c --ttl 1s
lock_later waiter x --owner d --wait 1h
at_last has_ended waiter
result 'the end of a lease grants the lock to a waiter' "$(
	is_sql d 'SELECT owner FROM hashbelt_lock' || lock_row x)"
# The server ends its side of a connection a moment after the client.
for number in 1 2 15; do # SIGHUP, SIGINT, SIGTERM
	at_last is_waiting 0
	lock_later waiter x --owner e --wait forever
	at_last is_waiting 1
	kill -$number "$pid"
	ended "signal $number ends a waiting lock command" waiter $((128 + number)) '' \
		"interrupted while waiting for lock 'x'"
done
result 'a waiter that a signal ended does not get the lock' "$(is_sql d 'SELECT owner FROM hashbelt_lock' ||
	lock_row x)"
at_last is_waiting 0
under='nohup'
lock_later waiter x --owner e --wait forever
under='env'
at_last is_waiting 1
kill -s HUP "$pid"
in_store unlock x --owner d
at_last has_ended waiter
result 'SIGHUP does not end a waiting lock command under nohup' "$(grep -v '^0' "$temporary/waiter.status")"
is 'a waiter that has ignored SIGHUP has the lock' 0 '' '' in_store unlock x --owner e
# Another session locks the table when more than a third of the wait is over.
# shellcheck disable=SC2317 # called by at_last
has_waited() {
	is_sql 1 "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hbctl'
		AND state = 'idle' AND query_start > backend_start + interval '2 seconds'"
}
in_store lock x --owner a --ttl 1h >/dev/null
mkfifo "$temporary/session"
"$bin/psql" -X -q -A -t -d "$store" <"$temporary/session" >"$temporary/psql" &
psql=$!
exec 8>"$temporary/session"
at_last is_waiting 0
lock_later waiter x --owner b --wait 5s
at_last has_waited
echo 'BEGIN; LOCK TABLE hashbelt_lock; DELETE FROM hashbelt_lock; SELECT 1;' >&8
at_last test -s "$temporary/psql"
ended 'lock --wait 5s exits with 3 when another session locks the table meanwhile' waiter 3 '' \
	'the store: the statement was given up: *'
echo 'COMMIT;' >&8
exec 8>&-
wait $psql
at_last is_sql 0 "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hbctl'"
is 'an attempt that was given up does not take the lock later on' 0 '' '' lock_row x

# A command
check_command in_store "hbctl locks --store '$store'"
is 'no row is left once commands under locks have ended' 0 '' '' lock_row x

# Signals
# shellcheck disable=SC2016
trap_it='trap "exit 7" INT; trap "exit 20" TERM; : >"$0"; while :; do sleep 0.05; done'
for number in 2 15; do
	lock_later holder x --owner a -- sh -c "$trap_it" "$temporary/ready"
	at_last test -e "$temporary/ready"
	kill -$number "$pid"
	ended "hbctl passes signal $number on to the command and exits with its status" holder \
		$((number + 5)) '' ''
	rm "$temporary/ready"
done
# shellcheck disable=SC2016
lock_later holder x --owner a -- sh -c ': >"$0"; exec sleep 1000' "$temporary/ready"
at_last test -e "$temporary/ready"
kill -s TERM "$pid"
ended 'lock exits with 143 when SIGTERM kills the command' holder 143 '' ''
rm "$temporary/ready"
is 'no row is left when SIGTERM has killed the command' 0 '' '' lock_row x

# Renewal
lock_later holder x --owner a --ttl 6s -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
row=$(lock_row x)
for _ in 1 2 3 4; do
	lease=$(lease_of x)
	at_last is_renewed x "$lease"
done
is 'renewals by hbctl leave owner and token as they are' 0 "$row" '' lock_row x
result 'locks lists a lock whose lease hbctl renews' "$(in_store locks --json | grep -q '"owner":"a"' ||
	echo 'expected owner a in the list of locks, found none')"
sql 'DELETE FROM hashbelt_lock'
ended 'hbctl ends the command with SIGTERM when its row is gone' holder 143 '' \
	"lock 'x' is lost (its lease was over): the command is asked to end (SIGTERM)"
lock_later holder x --owner a --ttl 6s -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
sql "UPDATE hashbelt_lock SET owner = 'thief', token = token + 1,
	lease = clock_timestamp() + interval '1 hour'"
ended 'hbctl ends the command with SIGTERM when another owner has the lock' holder 143 '' \
	"lock 'x' is lost (another has it): *"
is 'hbctl that has lost its lock leaves the lock of the new owner' 0 1 '' in_store release --owner thief
lock_later holder x --owner a --ttl 6s -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
sql "UPDATE hashbelt_lock SET token = token + 1"
ended 'hbctl ends the command with SIGTERM when the token has changed' holder 143 '' \
	"lock 'x' is lost (its lease was over): *"
in_store release --owner a >/dev/null
# shellcheck disable=SC2016
lock_later holder x --owner a --ttl 6s -- \
	sh -c 'trap "exit 0" TERM; : >"$0"; while :; do sleep 0.05; done' "$temporary/ready"
at_last test -e "$temporary/ready"
sql 'DELETE FROM hashbelt_lock'
ended 'lock exits with 4 if the command ends with 0 after its lock is lost' holder 4 '' "lock 'x' is lost *"
rm "$temporary/ready"
mkfifo "$temporary/fifo"
# shellcheck disable=SC2016
lock_later holder x --owner a --ttl 1h -- sh -c ': >"$0"; cat "$1"' "$temporary/ready" "$temporary/fifo"
at_last test -e "$temporary/ready"
sql 'DELETE FROM hashbelt_lock'
: >"$temporary/fifo"
ended 'lock exits with 4 if the lock was lost between two renewals' holder 4 '' \
	"lock 'x' is lost (its lease was over)"
rm "$temporary/ready"

# A holder that is killed
# shellcheck disable=SC2016
lock_later holder x --owner a --ttl 1500ms -- sh -c 'echo $$ >"$0"; exec sleep 1000' "$temporary/child"
at_last test -s "$temporary/child"
killed=$pid
old=$(sql 'SELECT token FROM hashbelt_lock')
lock_later waiter x --owner b --wait forever
at_last is_waiting 1
kill -s KILL "$killed"
at_last is_gone "$(cat "$temporary/child")"
result 'the kill of hbctl ends the command that runs under its lock' "$(is_gone "$(cat "$temporary/child")" ||
	echo 'expected that the command has ended, found that it runs')"
at_last has_ended waiter
result 'the lock of a killed hbctl goes to the waiter when its lease is over' "$(
	is_sql b 'SELECT owner FROM hashbelt_lock' || lock_row x)"
larger 'the waiter after a killed hbctl has a larger token' "$(cat "$temporary/waiter.out")" "$old"
in_store unlock x --owner b

# A server that is restarted or stopped
# shellcheck disable=SC2016
lock_later holder x --owner a --ttl 9s -- sh -c ': >"$0"; cat "$1"' "$temporary/ready" "$temporary/fifo"
at_last test -e "$temporary/ready"
lease=$(lease_of x)
server restart -m fast
at_last is_renewed x "$lease"
result 'hbctl renews its lease after a restart of the server' "$(is_renewed x "$lease" ||
	echo 'expected another lease, found the same')"
: >"$temporary/fifo"
ended 'the command ends with 0 though the server was restarted meanwhile' holder 0 '' ''
is 'hbctl unlocks its lock after a restart of the server' 0 '' '' lock_row x
rm "$temporary/ready"
# shellcheck disable=SC2016
lock_later holder x --owner a --ttl 2s -- sh -c ': >"$0"; exec sleep 1000' "$temporary/ready"
at_last test -e "$temporary/ready"
server stop -m immediate
ended 'hbctl ends the command with SIGTERM when the server stays away' holder 143 '' \
	"lock 'x' is lost (*connect*): the command is asked to end (SIGTERM)"
server start
age x
in_store release --aged >/dev/null

# Many processes at once
count_up '' 8 12 in_store lock counter --wait forever --
# shellcheck disable=SC2317 # called by count_up
by_hand() {
	token=$(in_store lock counter --owner "o$i" --wait 1h) || return
	HASHBELT_LOCK_TOKEN=$token "$@"
	in_store unlock counter --owner "o$i"
}
count_up ', with lock and unlock' 8 6 by_hand

finish
