#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# lock.t - the commands on locks, on a PostgreSQL: who gets what, and what is said.
# Leases are hours, and are ended by hand.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

plan 86
# shellcheck source=tests/store/server.sh
. "$(dirname "$0")/server.sh"
# shellcheck source=tests/hbctl/locks.sh
. "$(dirname "$0")/../hbctl/locks.sh"

# token_of OWNER - of his only lock.
token_of() {
	field token in_store locks --owner "$1"
}

# The table
none="the store: *hashbelt_lock*: 'hbctl lock --store ... --create-table' makes what it needs"
is 'there is no table: lock' 3 '' "$none" in_store lock x
is 'there is no table: unlock' 3 '' "$none" in_store unlock x --owner a
is 'there is no table: locks' 3 '' "$none" in_store locks
for i in 1 2 3 4 5 6; do
	in_store lock --create-table >>"$temporary/made" 2>&1 || echo "status $?" \
		>>"$temporary/made" &
done
wait
result 'many make the table at once' "$(cat "$temporary/made")"
is 'the table is there already' 0 '' '' in_store lock --create-table
is 'its primary key is type and key' 0 'object_type,object_key' '' sql \
	"SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_index
		JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
		WHERE indrelid = 'hashbelt_lock'::regclass AND indisprimary"
is 'nobody has a lock' 0 '' '' in_store locks

# lock, unlock, renew
like 'lock prints the token' 0 '[1-9]*' '' in_store lock x --owner a --ttl 1h
first=$(cat "$temporary/out")
is 'that is the token' 0 "a|$first" '' lock_row x
is 'held by another' 1 '' \
	"lock 'x' is held by 'a', for * now and *m* more: --wait D waits for it" \
	in_store lock x --owner b
is 'held by another, JSON' 1 '' "lock 'x' is held by 'a', *" \
	in_store lock x --owner b --json
is 'the same owner gets the same token' 0 "$first" '' in_store lock x --owner a --ttl 1s
result 'who takes it again does not make the lease shorter' "$(
	left=$(field ttl_ms in_store locks)
	[ "$left" -gt 3000000 ] || echo "$left ms left")"
result 'who takes it again makes the lease longer' "$(
	left=$(field ttl_ms in_store lock x --owner a --ttl 2h)
	[ "$left" -gt 7100000 ] && [ "$left" -le 7200000 ] || echo "$left ms left")"
is 'unlock by another' 1 '' "lock 'x' is held by 'a', not by 'b': *" \
	in_store unlock x --owner b
is 'renew by another' 1 '' "lock 'x' is held by 'a', not by 'b': *" \
	in_store renew x --owner b
is 'renew' 0 '' '' in_store renew x --owner a --ttl 10m
result 'renew sets the lease' "$(
	left=$(field ttl_ms in_store locks)
	[ "$left" -gt 500000 ] && [ "$left" -le 600000 ] || echo "$left ms left")"
result 'renew returns the token' "$(
	token=$(field token in_store renew x --owner a)
	[ "$token" = "$first" ] || echo "token $token, not $first")"
result 'a lease is a minute if nothing is said' "$(
	left=$(field ttl_ms in_store locks)
	[ "$left" -gt 50000 ] && [ "$left" -le 60000 ] || echo "$left ms left")"
like 'locks, JSON' 0 \
	"{\"key\":\"x\",\"owner\":\"a\",\"token\":$first,\"ttl_ms\":*,\"held_ms\":*,\"bound\":false}" \
	'' in_store locks --json
like 'locks' 0 "TOKEN *HELD *LEFT *OWNER *NAME
$first *s *s *a  *x" '' in_store locks
is 'unlock' 0 '' '' in_store unlock x --owner a
nobody="nobody holds lock 'x': it was never taken, or its lease is over"
is 'unlock what is not held' 1 '' "$nobody" in_store unlock x --owner a
is 'renew what is not held' 1 '' "$nobody" in_store renew x --owner a
in_store lock y --owner a >/dev/null
is 'unlock, JSON' 0 '{"key":"y","owner":"a"}' '' in_store unlock y --owner a --json

# Owners that nobody has named
like 'who names no owner is told' 0 "[1-9]*	*:*:*" '' in_store lock x
owner=$(cut -f 2 "$temporary/out")
is 'another one without a name is another' 1 '' "lock 'x' is held by '$owner', *" \
	in_store lock x
is 'unlock by that owner' 0 '' '' in_store unlock x --owner "$owner"

# Tokens
last=$first
wrong=
for i in 1 2 3 4 5; do
	token=$(in_store lock x --owner "o$i")
	[ "$token" -gt "$last" ] || wrong="$token after $last"
	last=$token
	in_store unlock x --owner "o$i"
done
result 'tokens grow when the lock was free in between' "$wrong"

# Who is about to be granted the lock has no token yet: whoever was faster has the smaller
# one. He is held up here where grants of one lock wait for each other.
mkfifo "$temporary/fifo"
"$bin/psql" -X -q -A -t -d "$store" <"$temporary/fifo" >"$temporary/psql" &
exec 8>"$temporary/fifo"
echo "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('lock/x', 0));" >&8
at_last is_sql 1 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
in_store lock x --owner slow >"$temporary/slow" &
slow=$!
at_last is_sql 1 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
is 'no token is taken before the grant' 0 "$last" '' sql \
	'SELECT last_value FROM hashbelt_lock_token'
echo 'COMMIT;' >&8
exec 8>&-
wait $slow
result 'it is taken with it' "$(echo $((last + 1)) | cmp - "$temporary/slow" 2>&1)"
in_store unlock x --owner slow

# Types and tables
in_store lock x --owner a >/dev/null
like 'another type is another lock' 0 '[1-9]*' '' in_store lock --type invoice x --owner b
like 'locks of a type' 0 '{"key":"x","owner":"b",*}' '' \
	in_store locks --type invoice --json
is 'unlock of a type' 0 '' '' in_store unlock --type invoice x --owner b
is 'the other type is still held' 1 '' "lock 'x' is held by 'a', *" \
	in_store lock x --owner b
# shellcheck disable=SC2016 # what looks like a variable is none
odd='odd "table"; DROP TABLE hashbelt_lock; -- $1 %s'
is 'a table of any name' 0 '' '' in_store lock --table "$odd" --create-table
like 'a lock in it' 0 '1' '' in_store lock --table "$odd" x --owner b
like 'its list' 0 '{"key":"x","owner":"b","token":1,*}' '' \
	in_store locks --table "$odd" --json
is 'unlock in it' 0 '' '' in_store unlock --table "$odd" x --owner b
is 'a table that is not there' 3 '' "the store: relation \"nix\" does not exist: *" \
	in_store locks --table nix
is 'unlock of all others' 0 '' '' in_store unlock x --owner a

# Whatever names and owners are made of
sly="x'; DELETE FROM hashbelt_lock; -- \\ \" \$1 %s %"
who="o'; DROP TABLE hashbelt_lock; -- \$2"
like 'metacharacters: lock' 0 '[1-9]*' '' in_store lock "$sly" --owner "$who"
like 'metacharacters: held' 1 '' "lock 'x'; DELETE * is held by 'o'; DROP *" \
	in_store lock "$sly" --owner other
is 'metacharacters: renew' 0 '' '' in_store renew "$sly" --owner "$who"
like 'metacharacters: locks' 0 \
	"{\"key\":\"x'; DELETE FROM hashbelt_lock; -- * \$1 %s %\",\"owner\":\"o'; DROP *}" \
	'' in_store locks --owner "$who" --json
is 'metacharacters: an owner that is almost the same' 0 '' '' \
	in_store locks --owner "$who "
is 'metacharacters: unlock' 0 '' '' in_store unlock "$sly" --owner "$who"
is 'nothing is left' 0 0 '' sql 'SELECT count(*) FROM hashbelt_lock'
like 'an escaped name' 0 '[1-9]*' '' in_store lock -e 'a\tb\n' --owner a
like 'locks escapes it' 0 '*  a\\tb\\n' '' in_store locks
is 'unlock by the escaped name' 0 '' '' in_store unlock -e 'a\tb\n' --owner a
like 'a name that is not ASCII' 0 '[1-9]*' '' in_store lock 'Zürich' --owner 'Jürg'
is 'unlock it' 0 '' '' in_store unlock 'Zürich' --owner 'Jürg'
utf8='that is in a store must be UTF-8 and without \\x00'
is 'a name that is no text' 2 '' "the store: the name of a lock $utf8" \
	in_store lock "$(printf 'a\377')" --owner a
is 'a name with a NUL' 2 '' "the store: the name of a lock $utf8" \
	in_store lock -e 'a\x00' --owner a
is 'an owner that is no text' 2 '' "the store: an owner $utf8" \
	in_store lock x --owner "$(printf 'a\377')"
long=$(text 1024)
like 'the longest name' 0 '[1-9]*' '' in_store lock "$long" --owner "$(text 64)"
is 'unlock it' 0 '' '' in_store unlock "$long" --owner "$(text 64)"

# Aged locks
last=$(in_store lock x --owner a)
age x
is 'an aged lock is not listed' 0 '' '' in_store locks
is 'an aged lock is not renewed' 1 '' "$nobody" in_store renew x --owner a
like 'an aged lock goes to another' 0 '[1-9]*' '' in_store lock x --owner b
result 'with a larger token' "$(
	[ "$(cat "$temporary/out")" -gt "$last" ] || cat "$temporary/out")"
is 'who had it is told' 1 '' "lock 'x' is held by 'b', not by 'a': *" \
	in_store unlock x --owner a
last=$(token_of b)
age x
result 'who had it gets a larger token as well' "$(
	token=$(in_store lock x --owner b)
	[ "$token" -gt "$last" ] || echo "$token after $last")"
result 'an owner that takes its aged lock again holds it since now' "$(
	held=$(field held_ms in_store locks)
	[ "$held" -lt 60000 ] || echo "$held ms")"
age x
is 'to unlock an aged lock is too late' 1 '' "$nobody" in_store unlock x --owner b
is 'unlock of an aged lock removes its row' 0 '' '' lock_row x
for i in 1 2 3; do
	in_store lock "aged$i" --owner a
	age "aged$i"
done >/dev/null
in_store lock --type other aged1 --owner a >/dev/null
sql "UPDATE hashbelt_lock SET lease = clock_timestamp() WHERE object_type = 'other'"
in_store lock fresh --owner a >/dev/null
is 'release of all that are aged' 0 3 '' in_store release --aged
is 'of that type alone' 0 '{"released":1}' '' in_store release --aged --type other --json
is 'the others stay' 0 fresh '' sql 'SELECT object_key FROM hashbelt_lock'

# Release of an owner
for i in 1 2 3; do
	in_store lock "a$i" --owner a
	in_store lock "b$i" --owner b
done >/dev/null
age a3
is 'release of an owner counts what was held' 0 3 '' in_store release --owner a
is 'his locks are gone' 0 '' '' in_store locks --owner a
is 'the others stay' 0 3 '' sql 'SELECT count(*) FROM hashbelt_lock'
is 'release of nothing' 0 '{"released":0}' '' in_store release --owner a --json
is 'release of the other' 0 3 '' in_store release --owner b

# Who waits is told
# told NAME COMMAND... - the channel says that a lock was given back.
told() {
	name=$1
	shift
	run "$bin/psql" -X -q -A -t -d "$store" -c 'LISTEN hashbelt_lock' -c "\\! $*" \
		-c 'SELECT 1'
	result "$name" "$(grep -q 'notification "hashbelt_lock" with payload "lock/x"' \
		"$temporary/out" || cat "$temporary/out" "$temporary/err")"
}
export HASHBELT_STORE="$store"
in_store lock x --owner a >/dev/null
told 'unlock tells' hbctl unlock x --owner a
in_store lock x --owner a >/dev/null
told 'release tells' hbctl release --owner a
in_store lock x --owner a >/dev/null
age x
told 'release --aged tells' hbctl release --aged

# The environment
like 'HASHBELT_STORE' 0 '[1-9]*' '' hbctl lock x --owner a
is 'its lock is in the store' 1 '' "lock 'x' is held by 'a', *" in_store lock x --owner b
is '-b wants a belt' 3 '' 'there is no device /nonexistent: *' \
	hbctl -D /nonexistent lock x --owner a
is 'release' 0 1 '' hbctl release --owner a
HASHBELT_STORE=''
is 'an empty one is none' 3 '' 'there is no device *' \
	hbctl locks -D /nonexistent
unset HASHBELT_STORE
is 'as a URI' 0 '' '' hbctl locks --store "postgresql://hashbelt@127.0.0.1:$port/postgres"
is 'an index finds the locks of an owner' 0 1 '' sql \
	"SELECT count(*) FROM pg_indexes WHERE tablename = 'hashbelt_lock'
		AND indexdef LIKE '%(owner, object_type)'"

finish
