#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# hold.t - who waits for a lock in a store, and what runs under one: commands, signals,
# holders that are killed, servers that are started anew, and many at once.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

plan 48
# shellcheck source=tests/store/server.sh
. "$(dirname "$0")/server.sh"

in_store lock --create-table || exit 1

# later NAME ARGUMENT... - run hbctl lock in the background, under the program $under; its
# pid is $pid, and its output, messages and status are in files of that name.
under='env'
later() {
	later=$temporary/$1
	shift
	rm -f "$later.status"
	# What runs in the background of a script would ignore SIGINT.
	(
		perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' \
			"$under" hbctl lock --store "$store" "$@" \
			>"$later.out" 2>"$later.err" </dev/null &
		echo $! >"$later.pid"
		wait $!
		echo $? >"$later.status"
	) &
	at_last test -s "$later.pid"
	pid=$(cat "$later.pid")
	rm "$later.pid"
}

# ended NAME WANTED STATUS OUT ERR - what ran in the background has ended so.
ended() {
	at_last test -s "$temporary/$2.status"
	cp "$temporary/$2.out" "$temporary/out"
	cp "$temporary/$2.err" "$temporary/err"
	status=$(cat "$temporary/$2.status")
	want "$4"
	result "$1" "$(judge_status "$3"; same; judge_error "$5")"
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
later waiter x --owner b --wait forever
at_last is_waiting 1
in_store unlock x --owner a
at_last test -s "$temporary/waiter.status"
result 'unlock wakes who waits' "$(
	[ "$(cat "$temporary/waiter.out")" -gt "$token" ] || cat "$temporary/waiter.out" "$temporary/waiter.err")"
result 'and the lock is his' "$(is_sql "b" 'SELECT owner FROM hashbelt_lock' ||
	lock_row x)"
later waiter x --owner c --wait 1h
at_last is_waiting 1
in_store release --owner b >/dev/null
at_last test -s "$temporary/waiter.status"
result 'release wakes who waits' "$(is_sql c 'SELECT owner FROM hashbelt_lock' ||
	lock_row x)"
in_store renew x --owner c --ttl 1s
later waiter x --owner d --wait 1h
at_last test -s "$temporary/waiter.status"
result 'the end of a lease wakes who waits' "$(
	is_sql d 'SELECT owner FROM hashbelt_lock' || lock_row x)"
for number in 1 2 15; do # SIGHUP, SIGINT, SIGTERM
	later waiter x --owner e --wait forever
	at_last is_waiting 1
	kill -$number "$pid"
	ended "signal $number ends a wait" waiter $((128 + number)) '' \
		"interrupted while waiting for lock 'x'"
done
result 'and he does not get the lock' "$(is_sql d 'SELECT owner FROM hashbelt_lock' ||
	lock_row x)"
under='nohup'
later waiter x --owner e --wait forever
under='env'
at_last is_waiting 1
kill -s HUP "$pid"
in_store unlock x --owner d
at_last test -s "$temporary/waiter.status"
result 'what is ignored interrupts nothing' "$(grep -v '^0' "$temporary/waiter.status")"
is 'his lock' 0 '' '' in_store unlock x --owner e

# A command
# shellcheck disable=SC2016 # for the command's shell
say='echo "$HASHBELT_LOCK_TOKEN" "$@"'
run in_store lock x --owner a -- sh -c "$say; hbctl locks --store '$store' --json" sh 1 -2 --json
result 'the command is told the token' "$(
	read -r token words <"$temporary/out"
	[ "$words" = '1 -2 --json' ] || echo "arguments: $words"
	grep -q "\"owner\":\"a\",\"token\":$token," "$temporary/out" || cat "$temporary/out"
	judge_status 0
	judge_error '')"
is 'the lock is given back' 0 '' '' lock_row x
is 'the status is the command'"'"'s' 7 '' '' in_store lock x -- sh -c 'exit 7'
is 'the lock is given back behind it' 0 '' '' lock_row x
is 'a signal is a status' 137 '' '' in_store lock x -- sh -c 'kill -9 $$'
is 'there is no such command' 127 '' "cannot run '/nonexistent': No such file *" \
	in_store lock x -- /nonexistent
is 'no command at all' 126 '' "cannot run '/': Permission denied" in_store lock x -- /
is 'the lock is given back all the same' 0 '' '' lock_row x
input=$temporary/words
echo words >"$input"
is 'the command has our stdin' 0 words '' in_store lock x -- cat
input=/dev/null
in_store lock y --owner a >/dev/null
is 'without the lock it is not run' 1 '' "lock 'y' is held by 'a', *" \
	in_store lock y -- touch "$temporary/run"
result 'indeed not' "$([ ! -e "$temporary/run" ] || echo 'it was')"
in_store unlock y --owner a

# Signals
# shellcheck disable=SC2016
trap_it='trap "exit 7" INT; trap "exit 20" TERM; : >"$0"; while :; do sleep 0.05; done'
for number in 2 15; do
	later holder x --owner a -- sh -c "$trap_it" "$temporary/ready"
	at_last test -e "$temporary/ready"
	kill -$number "$pid"
	ended "signal $number goes to the command" holder $((number + 5)) '' ''
	rm "$temporary/ready"
done
later holder x --owner a -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
kill -s TERM "$pid"
ended 'the command has died of it' holder 143 '' ''
is 'no lock is left' 0 '' '' lock_row x

# Renewal
later holder x --owner a --ttl 1800ms -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
row=$(lock_row x)
for _ in 1 2 3 4; do
	lease=$(lease_of x)
	at_last is_renewed x "$lease"
done
is 'the lock is renewed while the command runs' 0 "$row" '' lock_row x
result 'and held all the time' "$(in_store locks --json | grep -q '"owner":"a"' ||
	echo 'it is not')"
sql 'DELETE FROM hashbelt_lock'
ended 'a lock that is lost ends the command' holder 143 '' \
	"lock 'x' is lost (its lease was over): the command is asked to end (SIGTERM)"
later holder x --owner a --ttl 1800ms -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
sql "UPDATE hashbelt_lock SET owner = 'thief', token = token + 1"
ended 'a lock that another has got ends the command' holder 143 '' \
	"lock 'x' is lost (another has it): *"
is 'the other keeps it' 0 1 '' in_store release --owner thief
later holder x --owner a --ttl 1800ms -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
sql "UPDATE hashbelt_lock SET token = token + 1"
ended 'another grant to the same owner ends the command' holder 143 '' \
	"lock 'x' is lost (its lease was over): *"
in_store release --owner a >/dev/null
# shellcheck disable=SC2016
later holder x --owner a --ttl 1800ms -- \
	sh -c 'trap "exit 0" TERM; : >"$0"; while :; do sleep 0.05; done' "$temporary/ready"
at_last test -e "$temporary/ready"
sql 'DELETE FROM hashbelt_lock'
ended 'a command that ends well without its lock has not' holder 4 '' "lock 'x' is lost *"
rm "$temporary/ready"
mkfifo "$temporary/fifo"
# shellcheck disable=SC2016
later holder x --owner a --ttl 1h -- sh -c ': >"$0"; cat "$1"' \
	"$temporary/ready" "$temporary/fifo"
at_last test -e "$temporary/ready"
sql 'DELETE FROM hashbelt_lock'
: >"$temporary/fifo"
ended 'what is lost and not noticed is noticed in the end' holder 4 '' \
	"lock 'x' is lost (its lease was over)"
rm "$temporary/ready"

# A holder that is killed
# shellcheck disable=SC2016
later holder x --owner a --ttl 1500ms -- \
	sh -c 'echo $$ >"$0"; exec sleep 1000' "$temporary/child"
at_last test -s "$temporary/child"
killed=$pid
old=$(sql 'SELECT token FROM hashbelt_lock')
later waiter x --owner b --wait forever
at_last is_waiting 1
kill -s KILL "$killed"
# A process that nobody has waited for yet is there still, and does nothing.
is_gone() {
	! grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null
}
at_last is_gone "$(cat "$temporary/child")"
result 'a command does not outlive hbctl' "$(is_gone "$(cat "$temporary/child")" ||
	echo 'it does')"
at_last test -s "$temporary/waiter.status"
result 'the lock of who was killed ages out' "$(
	is_sql b 'SELECT owner FROM hashbelt_lock' || lock_row x)"
result 'the next one has a larger token' "$(
	[ "$(cat "$temporary/waiter.out")" -gt "$old" ] || cat "$temporary/waiter.out")"
in_store unlock x --owner b

# A server that goes
# shellcheck disable=SC2016
later holder x --owner a --ttl 9s -- sh -c ': >"$0"; cat "$1"' \
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
later holder x --owner a --ttl 2s -- sleep 1000
at_last is_sql 1 'SELECT count(*) FROM hashbelt_lock'
server stop -m immediate
ended 'a server that stays away costs the lock' holder 143 '' \
	"lock 'x' is lost (*connect*): the command is asked to end (SIGTERM)"
server start
age x
in_store release --aged >/dev/null

# Many at once. The counter is a plain file: who reads it before another has written
# loses what that one has counted.
echo 0 >"$temporary/counter"
: >"$temporary/tokens"
# shellcheck disable=SC2016
count_up='read -r n <"$0/counter"; echo $((n + 1)) >"$0/counter"
	echo "$HASHBELT_LOCK_TOKEN" >>"$0/tokens"'
for i in 1 2 3 4 5 6 7 8; do
	(
		for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
			in_store lock counter --wait forever -- sh -c "$count_up" "$temporary" ||
				echo "status $?"
		done
	) >>"$temporary/wrong" 2>&1 &
	children="${children-} $!"
done
# shellcheck disable=SC2086 # a list
wait $children
result 'all had their turn' "$(cat "$temporary/wrong")"
result 'no count is lost' "$(grep -v '^96$' "$temporary/counter")"
result 'tokens grow in the order of the grants' "$(sort -n -u "$temporary/tokens" |
	diff - "$temporary/tokens")"
echo 0 >"$temporary/counter"
: >"$temporary/tokens"
for i in 1 2 3 4 5 6 7 8; do
	(
		for _ in 1 2 3 4 5 6; do
			token=$(in_store lock counter --owner "o$i" --wait 1h) || echo "status $?"
			HASHBELT_LOCK_TOKEN=$token sh -c "$count_up" "$temporary"
			in_store unlock counter --owner "o$i" || echo "status $?"
		done
	) >>"$temporary/wrong" 2>&1 &
	children="$children $!"
done
# shellcheck disable=SC2086
wait $children
result 'all had their turn, by hand' "$(cat "$temporary/wrong")"
result 'no count is lost, by hand' "$(grep -v '^48$' "$temporary/counter")"
result 'tokens grow, by hand' "$(sort -n -u "$temporary/tokens" |
	diff - "$temporary/tokens")"

finish
