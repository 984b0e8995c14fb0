#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# reach.t - stores that cannot be reached, do not answer, or refuse: what is said, in
# what time. And an hbctl that was built without libpq.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

plan 38
# shellcheck source=tests/store/server.sh
. "$(dirname "$0")/server.sh"

in_store lock --create-table || exit 1
without=$(cd "$(dirname "$0")/../.." && pwd)/.cache/build/tools-without-libpq/hbctl

# A port that takes connections and never says a word.
perl -MIO::Socket::INET -e '
	my $s = IO::Socket::INET->new(Listen => 50, LocalAddr => "127.0.0.1");
	print $s->sockport, "\n";
	close STDOUT;
	sleep 1000' >"$temporary/mute" &
mute=$!
trap 'kill $mute; end_server' EXIT
at_last test -s "$temporary/mute"
mute_port=$(cat "$temporary/mute")

# timed NAME LEAST MOST STATUS ERR COMMAND... - as is, and it takes that many
# milliseconds.
timed() {
	name=$1 least=$2 most=$3 wanted_status=$4 error_pattern=$5
	want ''
	shift 5
	begun=$(date +%s%N)
	run "$@"
	took=$((($(date +%s%N) - begun) / 1000000))
	result "$name" "$(judge_status "$wanted_status"; same; judge_error "$error_pattern"
		[ $took -ge "$least" ] && [ $took -le "$most" ] || echo "took $took ms")"
}

# Nobody takes the connection. What has ten seconds is judged in the end.
at="host=127.0.0.1 user=hbctl password=secret dbname=x"
late='the store: the server did not take the connection within'
for command in 'lock x' 'locks'; do
	# shellcheck disable=SC2086 # words
	(
		begun=$(date +%s%N)
		hbctl $command --store "$at port=$mute_port" 2>"$temporary/err.${command%% *}"
		echo "$? $((($(date +%s%N) - begun) / 1000000))" >"$temporary/took.${command%% *}"
	) &
done
closed=$(free_port)
refused='the store: connection to server at "127.0.0.1", port * failed: Connection refused'
timed 'a closed port' 0 3000 3 "$refused" hbctl locks --store "$at port=$closed"
timed 'a closed port, with a wait' 0 3000 3 "$refused" \
	hbctl lock x --wait 1h --store "$at port=$closed"
timed 'a socket that is not there' 0 3000 3 'the store: connection to server on socket * failed: *' \
	hbctl locks --store "host=/nonexistent dbname=x"
timed 'a port without an answer' 1900 5000 3 "$late 2s" \
	hbctl lock x --wait 2s --store "$at port=$mute_port"
timed 'a wait of no time is a second' 900 4000 3 "$late 1s" \
	hbctl lock x --wait 10ms --store "$at port=$mute_port"
timed 'a host that is none' 0 11000 3 'the store: *' \
	hbctl locks --store "host=nothing.invalid dbname=x"

# A server that stands still once we are connected
server_pid=$(head -n 1 "$data/base/postmaster.pid")
kill -s STOP "$server_pid"
timed 'a server that stands still' 900 4000 3 "$late 1s" in_store lock x --wait 1s
kill -s CONT "$server_pid"

# How many connections of ours the server has; its side of one ends a moment after ours.
# shellcheck disable=SC2317 # called by is
served() {
	sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hbctl'"
}

# shellcheck disable=SC2317 # called by at_last
nobody_is_served() {
	[ "$(served)" = 0 ]
}

# Somebody has locked the whole table.
rm -f "$temporary/fifo"
mkfifo "$temporary/fifo"
"$bin/psql" -X -q -A -t -d "$store" <"$temporary/fifo" >"$temporary/psql" &
psql=$!
exec 8>"$temporary/fifo"
echo 'BEGIN; LOCK TABLE hashbelt_lock; SELECT 1;' >&8
at_last test -s "$temporary/psql"
timed 'a statement that does not end' 800 4000 3 'the store: the statement was given up: *' \
	in_store lock x --owner a --wait 1s
at_last nobody_is_served
is 'the server has given it up as well' 0 0 '' served
echo 'ROLLBACK;' >&8
exec 8>&-
wait $psql
is 'nobody has got the lock' 0 '' '' in_store locks

# What the database refuses
is 'a database that is not there' 3 '' 'the store: * database "nix" does not exist' \
	hbctl locks --store "$store dbname=nix"
is 'a user that is not there' 3 '' 'the store: * role "nix" does not exist' \
	hbctl locks --store "$store user=nix"
sql 'CREATE ROLE guest LOGIN'
is 'no right to the table' 3 '' 'the store: permission denied for table hashbelt_lock' \
	hbctl lock x --store "$store user=guest"
sql 'GRANT SELECT, INSERT, UPDATE, DELETE ON hashbelt_lock TO guest'
is 'no right to the sequence' 3 '' \
	'the store: permission denied for sequence hashbelt_lock_token' \
	hbctl lock x --store "$store user=guest"
sql 'GRANT USAGE ON SEQUENCE hashbelt_lock_token TO guest'
like 'who has the rights needs not own it' 0 '[1-9]*' '' \
	hbctl lock x --owner a --store "$store user=guest"
is 'he may unlock' 0 '' '' hbctl unlock x --owner a --store "$store user=guest"
is 'a database that is read only' 3 '' \
	'the store: cannot execute * in a read-only transaction' \
	hbctl lock x --store "$store options='-c default_transaction_read_only=on'"
like 'whatever the isolation is' 0 '[1-9]*' '' \
	hbctl lock x --owner a --store "$store options='-c default_transaction_isolation=serializable'"
is 'unlock' 0 1 '' in_store release --owner a

# Usage
is 'a connection string that is none' 2 '' 'locks: --store: invalid *option "nix" *' \
	hbctl locks --store 'host=x nix=1'
is 'a URI that is none' 2 '' 'locks: --store: *' hbctl locks --store 'postgresql://[x/'
is 'a table without a name' 2 '' 'locks: --table: a name has 1 to 57 bytes, *' \
	in_store locks --table ''
is 'a table with a long name' 2 '' 'locks: --table: a name has 1 to 57 bytes, *' \
	in_store locks --table "$(text 58)"
is 'the longest name' 0 '' '' in_store lock --create-table --table "$(text 57)"
like 'has its own tokens' 0 1 '' in_store lock x --owner a --table "$(text 57)"
is 'a type without a name' 2 '' 'locks: --type: a type has 1 to 64 bytes, *' \
	in_store locks --type ''
is 'a type with a long name' 2 '' 'locks: --type: a type has 1 to 64 bytes, *' \
	in_store locks --type "$(text 65)"

# Without libpq
missing='--store: this hbctl was built without libpq: install libpq-dev and build it again'
result 'it needs no libpq' "$(ldd "$without" | grep libpq)"
for command in 'lock x' 'unlock x --owner a' 'renew x --owner a' locks \
	'release --owner a' 'release --aged' 'lock --create-table'; do
	# shellcheck disable=SC2086 # words
	is "without libpq: $command" 3 '' "$missing" "$without" $command --store "$store"
done
is 'wrong usage is wrong all the same' 2 '' 'unlock: --owner is missing *' \
	"$without" unlock x --store "$store"

# By now they have ended.
for command in lock locks; do
	at_last test -s "$temporary/took.$command"
	read -r status took <"$temporary/took.$command"
	cp "$temporary/err.$command" "$temporary/err"
	result "$command has ten seconds" "$(judge_status 3; judge_error "$late 10s"
		[ "$took" -ge 9500 ] && [ "$took" -lt 14000 ] || echo "took $took ms")"
done

finish
