#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# reach.t - stores that cannot be reached, do not answer, or refuse: the message and the time
# that it takes. And an hbctl without the program hbctl-store.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

# shellcheck source=tests/store/server.sh
. "$(dirname "$0")/server.sh"

in_store lock --create-table || exit 1
alone=$temporary/alone/hbctl
mkdir "${alone%/*}"
cp "$(command -v hbctl)" "$(dirname "$(command -v hbctl)")/hbctl-manage.so" "${alone%/*}"

# A port that accepts connections and never answers.
perl -MIO::Socket::INET -e '
	my $s = IO::Socket::INET->new(Listen => 50, LocalAddr => "127.0.0.1");
	print $s->sockport, "\n";
	close STDOUT;
	sleep 1000' >"$temporary/mute" &
mute=$!
trap 'kill $mute; end_server' EXIT
at_last test -s "$temporary/mute"
mute_port=$(cat "$temporary/mute")

# timed NAME LEAST MOST STATUS ERR COMMAND... - the check "is" with no output; the command must
# take LEAST to MOST milliseconds.
timed() {
	name=$1 least=$2 most=$3 wanted_status=$4 error_pattern=$5
	want ''
	shift 5
	begun=$(date +%s%N)
	run "$@"
	took=$((($(date +%s%N) - begun) / 1000000))
	result "$name" "$(check_status "$wanted_status"; same; check_error "$error_pattern"
		[ $took -ge "$least" ] && [ $took -le "$most" ] || echo "took $took ms")"
}

# Connections that are not answered. Commands that wait for ten seconds are checked at the end.
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
timed 'locks on a closed port exits with 3 within 3 s' 0 3000 3 "$refused" hbctl locks --store \
	"$at port=$closed"
timed 'lock --wait 1h on a closed port exits with 3 within 3 s' 0 3000 3 "$refused" \
	hbctl lock x --wait 1h --store "$at port=$closed"
timed 'locks on a missing socket exits with 3 within 3 s' 0 3000 3 \
	'the store: connection to server on socket * failed: *' \
	hbctl locks --store "host=/nonexistent dbname=x"
timed 'lock --wait 2s on a port without an answer exits with 3 after 2 s' 1900 5000 3 "$late 2s" \
	hbctl lock x --wait 2s --store "$at port=$mute_port"
timed 'lock --wait 10ms on a port without an answer exits with 3 after 1 s' 900 4000 3 "$late 1s" \
	hbctl lock x --wait 10ms --store "$at port=$mute_port"
timed 'locks on an unknown host exits with 3' 0 11000 3 'the store: *' \
	hbctl locks --store "host=nothing.invalid dbname=x"

# A server that is stopped (SIGSTOP)
server_pid=$(head -n 1 "$data/base/postmaster.pid")
kill -s STOP "$server_pid"
timed 'lock --wait 1s on a stopped server exits with 3 after 1 s' 900 4000 3 \
	"$late 1s" in_store lock x --wait 1s
kill -s CONT "$server_pid"

# served - print the number of hbctl's connections. The server ends its side a moment later.
# shellcheck disable=SC2317 # called by is
served() {
	sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hbctl'"
}

# shellcheck disable=SC2317 # called by at_last
nobody_is_served() {
	[ "$(served)" = 0 ]
}

# Another session has locked the whole table.
rm -f "$temporary/fifo"
mkfifo "$temporary/fifo"
"$bin/psql" -X -q -A -t -d "$store" <"$temporary/fifo" >"$temporary/psql" &
psql=$!
exec 8>"$temporary/fifo"
echo 'BEGIN; LOCK TABLE hashbelt_lock; SELECT 1;' >&8
at_last test -s "$temporary/psql"
timed 'lock --wait 5s exits with 3 while another session locks the table' 4000 8000 3 \
	'the store: the statement was given up: *' in_store lock x --owner a --wait 5s
at_last nobody_is_served
is 'the server ends the statement that lock has given up' 0 0 '' served
echo 'ROLLBACK;' >&8
exec 8>&-
wait $psql
is 'lock that has given up its statement leaves no lock' 0 '' '' in_store locks

# Commands that the database refuses
is 'locks on a missing database exits with 3' 3 '' 'the store: * database "nix" does not exist' \
	hbctl locks --store "$store dbname=nix"
is 'locks as a missing role exits with 3' 3 '' 'the store: * role "nix" does not exist' \
	hbctl locks --store "$store user=nix"
sql 'CREATE ROLE guest LOGIN'
is 'lock without the right to the table exits with 3' 3 '' \
	'the store: permission denied for table hashbelt_lock' hbctl lock x --store "$store user=guest"
sql 'GRANT SELECT, INSERT, UPDATE, DELETE ON hashbelt_lock TO guest'
is 'lock without the right to the sequence exits with 3' 3 '' \
	'the store: permission denied for sequence hashbelt_lock_token' \
	hbctl lock x --store "$store user=guest"
sql 'GRANT USAGE ON SEQUENCE hashbelt_lock_token TO guest'
like 'lock works for a role that has the rights and is not the owner' 0 '[1-9]*' '' \
	hbctl lock x --owner a --store "$store user=guest"
is 'unlock works for a role that has the rights and is not the owner' 0 '' '' \
	hbctl unlock x --owner a --store "$store user=guest"
is 'lock on a read-only database exits with 3' 3 '' 'the store: cannot execute * in a read-only transaction' \
	hbctl lock x --store "$store options='-c default_transaction_read_only=on'"
like 'lock works in isolation level serializable' 0 '[1-9]*' '' \
	hbctl lock x --owner a --store "$store options='-c default_transaction_isolation=serializable'"
is 'release of a lock taken in isolation level serializable prints 1' 0 1 '' in_store release --owner a

# Usage
is 'locks --store with an invalid option exits with 2' 2 '' 'locks: --store: invalid *option "nix" *' \
	hbctl locks --store 'host=x nix=1'
is 'locks --store with an invalid URI exits with 2' 2 '' 'locks: --store: *' \
	hbctl locks --store 'postgresql://[x/'
for value in '' "$(text 58)"; do
	is "locks --table with a name of ${#value} bytes exits with 2" 2 '' 'locks: --table: a name has 1 to 57 bytes, *' \
		in_store locks --table "$value"
done
is 'lock --create-table takes a table name of 57 bytes' 0 '' \
	'' in_store lock --create-table --table "$(text 57)"
like 'the first token of a table with a name of 57 bytes is 1' 0 1 \
	'' in_store lock x --owner a --table "$(text 57)"
for value in '' "$(text 65)"; do
	is "locks --type with a type of ${#value} bytes exits with 2" 2 '' 'locks: --type: a type has 1 to 64 bytes, *' \
		in_store locks --type "$value"
done

# Without hbctl-store
missing="--store: $alone-store is missing: install hbctl-store, or install libpq-dev and build *"
result 'hbctl does not link libpq' "$(ldd "$alone" | grep libpq)"
for command in 'lock x' 'unlock x --owner a' 'renew x --owner a' locks \
	'release --owner a' 'release --aged' 'lock --create-table'; do
	# shellcheck disable=SC2086 # words
	is "hbctl without hbctl-store: $command --store exits with 3" 3 '' "$missing" \
		"$alone" $command --store "$store"
done
is 'hbctl without hbctl-store: unlock without --owner exits with 2' 2 '' 'unlock: --owner is missing *' \
	"$alone" unlock x --store "$store"

# The commands on the port without an answer have ended by now.
for command in lock locks; do
	at_last test -s "$temporary/took.$command"
	read -r status took <"$temporary/took.$command"
	cp "$temporary/err.$command" "$temporary/err"
	result "$command on a port without an answer exits with 3 after 10 s" \
		"$(check_status 3; check_error "$late 10s"
		[ "$took" -ge 9500 ] && [ "$took" -lt 14000 ] || echo "took $took ms")"
done

finish
