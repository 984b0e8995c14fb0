#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# hold.t - who waits for a lock in a store, and what runs under one: commands, signals,
# holders that are killed, servers that are started anew, and many at once.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

plan 53
# shellcheck source=tests/store/server.sh
. "$(dirname "$0")/server.sh"
# shellcheck source=tests/hbctl/locks.sh
. "$(dirname "$0")/../hbctl/locks.sh"

in_store lock --create-table || exit 1

# lock_later NAME ARGUMENT... - later, hbctl lock under the program $under.
under='env'
lock_later() {
	name=$1
	shift
	# What runs in the background of a script would ignore SIGINT, and SIGHUP under nohup.
	# shellcheck disable=SC2016 # for perl
	later "$name" perl -e '$SIG{INT} = $SIG{HUP} = "DEFAULT"; exec @ARGV' \
		"$under" hbctl lock --store "$store" "$@"
}

# shellcheck disable=SC2317 # called by at_last
# is_waiting COUNT - so many wait for a lock.
is_waiting() {
	is_sql "$1" "SELECT count(*) FROM pg_stat_activity
		WHERE application_name = 'hbctl' AND state = 'idle'
		AND query LIKE 'SELECT owner%'"
}

lease_of() {
	sql "SELECT lease FROM hashbelt_lock WHERE object_key = '$1'"
}

# is_renewed NAME LEASE - the lease is another one by now.
is_renewed() {
	[ "$(lease_of "$1")" != "$2" ]
}

# Waiting
token=$(in_store lock x --owner a --ttl 1h)
is 'who waits in vain is told' 1 '' "lock 'x' is still held by 'a', for * now and * more" \
	in_store lock x --owner b --wait 300ms
is 'not at all is no wait' 1 '' "lock 'x' is held by 'a', *" \
	in_store lock x --owner b --wait 0
lock_later waiter x --owner b --wait forever
at_last is_waiting 1
in_store unlock x --owner a
at_last has_ended waiter
result 'unlock wakes who waits' "$(
	[ "$(cat "$temporary/waiter.out")" -gt "$token" ] || cat "$temporary/waiter.out" "$temporary/waiter.err")"
result 'a waiter that unlock has woken has the lock' "$(is_sql "b" 'SELECT owner FROM hashbelt_lock' ||
	lock_row x)"
lock_later waiter x --owner c --wait 1h
at_last is_waiting 1
in_store release --owner b >/dev/null
at_last has_ended waiter
result 'release wakes who waits' "$(is_sql c 'SELECT owner FROM hashbelt_lock' ||
	lock_row x)"
in_store renew x --owner c --ttl 1s
lock_later waiter x --owner d --wait 1h
at_last has_ended waiter
result 'the end of a lease wakes who waits' "$(
	is_sql d 'SELECT owner FROM hashbelt_lock' || lock_row x)"
for number in 1 2 15; do # SIGHUP, SIGINT, SIGTERM
	lock_later waiter x --owner e --wait forever
	at_last is_waiting 1
	kill -$number "$pid"
	ended "signal $number ends a wait" waiter $((128 + number)) '' \
		"interrupted while waiting for lock 'x'"
done
result 'a waiter that a signal ended does not get the lock' "$(is_sql d 'SELECT owner FROM hashbelt_lock' ||
	lock_row x)"
under='nohup'
lock_later waiter x --owner e --wait forever
under='env'
at_last is_waiting 1
kill -s HUP "$pid"
in_store unlock x --owner d
at_last has_ended waiter
result 'what is ignored interrupts nothing' "$(grep -v '^0' "$temporary/waiter.status")"
is 'his lock' 0 '' '' in_store unlock x --owner e

# A command
check_command in_store "hbctl locks --store '$store'"
is 'no lock is left behind it' 0 '' '' lock_row x

# Signals
# shellcheck disable=SC2016
trap_it='trap "exit 7" INT; trap "exit 20" TERM; : >"$0"; while :; do sleep 0.05; done'
for number in 2 15; do
	lock_later holder x --owner a -- sh -c "$trap_it" "$temporary/ready"
	at_last test -e "$temporary/ready"
	kill -$number "$pid"
	ended "signal $number goes to the command" holder $((number + 5)) '' ''
	rm "$temporary/ready"
done
lock_later holder x --owner a -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
kill -s TERM "$pid"
ended 'the command has died of it' holder 143 '' ''
is 'no lock is left' 0 '' '' lock_row x

# Renewal
lock_later holder x --owner a --ttl 1800ms -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
row=$(lock_row x)
for _ in 1 2 3 4; do
	lease=$(lease_of x)
	at_last is_renewed x "$lease"
done
is 'the lock is renewed while the command runs' 0 "$row" '' lock_row x
result 'a renewed lock is held all the time' "$(in_store locks --json | grep -q '"owner":"a"' ||
	echo 'it is not')"
sql 'DELETE FROM hashbelt_lock'
ended 'a lock that is lost ends the command' holder 143 '' \
	"lock 'x' is lost (its lease was over): the command is asked to end (SIGTERM)"
lock_later holder x --owner a --ttl 1800ms -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
sql "UPDATE hashbelt_lock SET owner = 'thief', token = token + 1"
ended 'a lock that another has got ends the command' holder 143 '' \
	"lock 'x' is lost (another has it): *"
is 'the other keeps it' 0 1 '' in_store release --owner thief
lock_later holder x --owner a --ttl 1800ms -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
sql "UPDATE hashbelt_lock SET token = token + 1"
ended 'another grant to the same owner ends the command' holder 143 '' \
	"lock 'x' is lost (its lease was over): *"
in_store release --owner a >/dev/null
# shellcheck disable=SC2016
lock_later holder x --owner a --ttl 1800ms -- \
	sh -c 'trap "exit 0" TERM; : >"$0"; while :; do sleep 0.05; done' "$temporary/ready"
at_last test -e "$temporary/ready"
sql 'DELETE FROM hashbelt_lock'
ended 'a command that ends well without its lock has not' holder 4 '' "lock 'x' is lost *"
rm "$temporary/ready"
mkfifo "$temporary/fifo"
# shellcheck disable=SC2016
lock_later holder x --owner a --ttl 1h -- sh -c ': >"$0"; cat "$1"' \
	"$temporary/ready" "$temporary/fifo"
at_last test -e "$temporary/ready"
sql 'DELETE FROM hashbelt_lock'
: >"$temporary/fifo"
ended 'what is lost and not noticed is noticed in the end' holder 4 '' \
	"lock 'x' is lost (its lease was over)"
rm "$temporary/ready"

# A holder that is killed
# shellcheck disable=SC2016
lock_later holder x --owner a --ttl 1500ms -- \
	sh -c 'echo $$ >"$0"; exec sleep 1000' "$temporary/child"
at_last test -s "$temporary/child"
killed=$pid
old=$(sql 'SELECT token FROM hashbelt_lock')
lock_later waiter x --owner b --wait forever
at_last is_waiting 1
kill -s KILL "$killed"
at_last is_gone "$(cat "$temporary/child")"
result 'a command does not outlive hbctl' "$(is_gone "$(cat "$temporary/child")" ||
	echo 'it does')"
at_last has_ended waiter
result 'the lock of who was killed ages out' "$(
	is_sql b 'SELECT owner FROM hashbelt_lock' || lock_row x)"
result 'the next one has a larger token' "$(
	[ "$(cat "$temporary/waiter.out")" -gt "$old" ] || cat "$temporary/waiter.out")"
in_store unlock x --owner b

# A server that goes
# shellcheck disable=SC2016
lock_later holder x --owner a --ttl 9s -- sh -c ': >"$0"; cat "$1"' \
	"$temporary/ready" "$temporary/fifo"
at_last test -e "$temporary/ready"
lease=$(lease_of x)
server restart -m fast
at_last is_renewed x "$lease"
result 'a lock is renewed by a server that was started anew' "$(is_renewed x "$lease" ||
	echo 'it is not')"
: >"$temporary/fifo"
ended 'and the command knows nothing of that' holder 0 '' ''
is 'the lock is given back to it' 0 '' '' lock_row x
lock_later holder x --owner a --ttl 2s -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
server stop -m immediate
ended 'a server that stays away costs the lock' holder 143 '' \
	"lock 'x' is lost (*connect*): the command is asked to end (SIGTERM)"
server start
age x
in_store release --aged >/dev/null

# Many at once
count_up '' 8 12 in_store lock counter --wait forever --
# shellcheck disable=SC2317 # called by count_up
by_hand() {
	token=$(in_store lock counter --owner "o$i" --wait 1h) || return
	HASHBELT_LOCK_TOKEN=$token "$@"
	in_store unlock counter --owner "o$i"
}
count_up ', by hand' 8 6 by_hand

finish
