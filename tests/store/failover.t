#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# failover.t - locks in a store whose server is replaced by a replica: one that lags, and one for which each
# commit waits.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

# shellcheck source=tests/store/server.sh
. "$(dirname "$0")/server.sh"
# shellcheck source=tests/hbctl/locks.sh
. "$(dirname "$0")/../hbctl/locks.sh"
# shellcheck source=tests/store/node.sh
. "$(dirname "$0")/node.sh"

in_store lock --create-table || exit 1
replicate second base || exit 1
both="host=$data,$data port=$port,$(cat "$data/second.port") user=hashbelt dbname=postgres"
both="$both target_session_attrs=read-write"

# at NAME COMMAND ARGUMENT... - run hbctl COMMAND on the locks of a server.
at() {
	at=$1 command=$2
	shift 2
	hbctl "$command" --store "$(place_of "$at")" "$@"
}

lease_of() {
	ask second "SELECT lease FROM hashbelt_lock WHERE object_key = '$1'"
}

# shellcheck disable=SC2317 # called by at_last
# is_renewed LEASE - true if the lease of the lock "kept" is no longer LEASE.
is_renewed() {
	[ "$(lease_of kept)" != "$1" ]
}

# holder NAME TTL - start a command under the lock NAME; it ends when its fifo is written to.
holder() {
	mkfifo "$temporary/$1.fifo"
	# shellcheck disable=SC2016 # for the command's shell
	later "$1" hbctl lock --store "$both" "$1" --owner a --ttl "$2" -- sh -c ': >"$0.ready"; cat "$0.fifo"' \
		"$temporary/$1"
	at_last test -e "$temporary/$1.ready"
}

# The replica lags
seen=$(in_store lock seen --owner a --ttl 1h)
holder kept 12s
holder brief 1h
caught_up second base
cut_off second base
lost=$(in_store lock lost --owner a --ttl 1h)
holder unseen 6s
in_store unlock seen --owner a
sql "SELECT nextval('hashbelt_lock_token') FROM generate_series(1, 40)" >"$temporary/numbers"
last=$(in_store lock last --owner a --ttl 1h)
fail_over base second
lease=$(lease_of kept)
: >"$temporary/brief.fifo"
ended 'hbctl unlocks on the replica when its command ends there' brief 0 '' ''
is 'no row of this lock is left' 0 '' '' ask second \
	"SELECT owner FROM hashbelt_lock WHERE object_key = 'brief'"
result "the sequence of a replica that lags is behind the tokens that were granted" "$(
	behind=$(ask second 'SELECT last_value FROM hashbelt_lock_token')
	[ "$behind" -lt "$last" ] || echo "expected less than $last, found $behind")"
token=$(at second lock lost --owner b)
larger 'a lock that the replica has not seen is granted again, with a larger token' "$token" "$lost"
larger 'the first token of a replica that lags is larger than all tokens of the server before' "$token" "$last"
more=$(at second lock after --owner b)
is 'the second token of the replica is the next number' 0 '' '' test "$more" = $((token + 1))
is 'renew of a lock that the replica has not seen exits with 1' 1 '' "lock 'lost' is held by 'b', not by 'a': *" \
	at second renew lost --owner a
is 'the replica has a lock that it has seen, though it was unlocked since' 0 "a|$seen" '' ask second \
	"SELECT owner, token FROM hashbelt_lock WHERE object_key = 'seen'"
ended 'hbctl ends the command whose lock the replica has not seen' unseen 143 '' \
	"lock 'unseen' is lost (its lease was over): the command is asked to end (SIGTERM)"
at_last is_renewed "$lease"
: >"$temporary/kept.fifo"
ended 'hbctl with both servers in --store renews the lock of its command on the replica' kept 0 '' ''

# A replica without the right to raise the sequence
ask second 'CREATE ROLE guest LOGIN'
ask second 'GRANT SELECT, INSERT, UPDATE, DELETE ON hashbelt_lock TO guest'
ask second 'GRANT USAGE ON SEQUENCE hashbelt_lock_token TO guest'

# Each commit waits for the replica
replicate third second || exit 1
ask second "ALTER SYSTEM SET synchronous_standby_names = 'third'"
ask second 'SELECT pg_reload_conf()' >/dev/null
at_last asked second sync 'SELECT sync_state FROM pg_stat_replication'
node third stop -m fast
is 'lock exits with 3 while the synchronous replica is away' 3 '' 'the store: the server did not answer within 2s' \
	at second lock late --owner a --ttl 1h --wait 2s
node third start
at_last asked second a "SELECT owner FROM hashbelt_lock WHERE object_key = 'late'"
is 'when the replica is back, the owner has the lock after all' 0 '' '' at second unlock late --owner a
for i in $(seq 40); do
	last=$(at second lock "same$i" --owner a --ttl 1h)
done
fail_over second third
is 'after a failover, lock exits with 3 for a role without the right to update the sequence' 3 '' \
	'the store: permission denied for sequence hashbelt_lock_token' \
	hbctl lock x --store "$(place_of third) user=guest"
is 'with a synchronous replica no lock is granted again' 1 '' "lock 'same40' is held by 'a', *" \
	at third lock same40 --owner b
is 'a synchronous replica has all locks' 0 40 '' ask third \
	"SELECT count(*) FROM hashbelt_lock WHERE object_key LIKE 'same%' AND lease > clock_timestamp()"
larger 'the first token after the second failover is larger than all before' "$(at third lock x --owner b)" "$last"
like 'the role can lock once the owner of the table has' 0 '[1-9]*' '' \
	hbctl lock y --owner b --store "$(place_of third) user=guest"

# Many at once raise the sequence once. A restored copy counts timelines anew.
ask third "SELECT setval('hashbelt_lock_token', 7 * (1::bigint << 40) + 5)" >/dev/null
for i in $(seq 8); do
	at third lock "at_once$i" --owner b >"$temporary/once$i" &
	raising="${raising-} $!"
done
# shellcheck disable=SC2086 # a list
wait $raising
result 'eight grants at once get eight tokens behind a number of another timeline' "$(
	cat "$temporary"/once? | sort -n | awk -v first=$(((1 << 48) + (2 << 40) + 1)) \
		'$1 != first + NR - 1 { print "found " $1 }
		END { if (NR != 8) print NR " tokens" }')"
finish
