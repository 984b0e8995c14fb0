#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# lock.t - the commands on locks, with a PostgreSQL: results, output and messages. Leases
# last for hours, and the tests end them by hand.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

# shellcheck source=tests/store/server.sh
. "$(dirname "$0")/server.sh"
# shellcheck source=tests/hbctl/locks.sh
. "$(dirname "$0")/../hbctl/locks.sh"

# token_of OWNER - print the token of the only lock of this owner.
token_of() {
	field token in_store locks --owner "$1"
}

# The table
none="the store: *hashbelt_lock*: 'hbctl lock --store ... --create-table' makes the table and its sequence"
is 'lock without the table exits with 3' 3 '' "$none" in_store lock x
is 'unlock without the table exits with 3' 3 '' "$none" in_store unlock x --owner a
is 'locks without the table exits with 3' 3 '' "$none" in_store locks
for i in 1 2 3 4 5 6; do
	in_store lock --create-table >>"$temporary/made" 2>&1 || echo "status $?" >>"$temporary/made" &
done
wait
result 'six concurrent lock --create-table make the table' "$(cat "$temporary/made")"
is 'lock --create-table of a present table exits with 0' 0 '' '' in_store lock --create-table
is 'the primary key of the table is type and key' 0 'object_type,object_key' '' sql \
	"SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_index
		JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
		WHERE indrelid = 'hashbelt_lock'::regclass AND indisprimary"
is 'locks of a new table prints nothing' 0 '' '' in_store locks

# lock, unlock, renew
like 'lock prints the fencing token' 0 '[1-9]*' '' in_store lock x --owner a --ttl 1h
first=$(cat "$temporary/out")
is 'the table has the owner and the token that lock has printed' 0 "a|$first" '' lock_row x
is 'lock exits with 1 and names the owner if another has it' 1 '' \
	"lock 'x' is held by 'a', for * now and *m* more: --wait D waits for it" in_store lock x --owner b
is 'lock --json exits with 1 and prints nothing if another owner has it' 1 '' "lock 'x' is held by 'a', *" \
	in_store lock x --owner b --json
is 'lock by the owner that has it prints the same token' 0 "$first" '' in_store lock x --owner a --ttl 1s
lasts 'lock by the owner that has it does not make the lease shorter' 3600000 in_store locks
lasts 'lock by the owner that has it makes the lease longer' 7200000 in_store lock x --owner a --ttl 2h
is 'unlock by another owner exits with 1' 1 '' "lock 'x' is held by 'a', not by 'b': *" \
	in_store unlock x --owner b
is 'renew by another owner exits with 1' 1 '' "lock 'x' is held by 'a', not by 'b': *" \
	in_store renew x --owner b
is 'renew by the owner exits with 0' 0 '' '' in_store renew x --owner a --ttl 10m
lasts 'renew --ttl sets the lease' 600000 in_store locks
result 'renew --json prints the token of the grant' "$(
	token=$(field token in_store renew x --owner a)
	[ "$token" = "$first" ] || echo "token $token, not $first")"
lasts 'renew without --ttl does not shorten a lease' 600000 in_store locks
in_store renew x --owner a --ttl 30s
in_store renew x --owner a
result 'renew without --ttl makes a shorter lease one of a minute' "$(
	left=$(field ttl_ms in_store locks)
	[ "$left" -gt 50000 ] && [ "$left" -le 60000 ] || echo "$left ms left")"
like 'locks --json prints an object for each lock' 0 \
	"{\"key\":\"x\",\"owner\":\"a\",\"token\":$first,\"ttl_ms\":*,\"held_ms\":*,\"bound\":false}" \
	'' in_store locks --json
like 'locks prints token, times, owner and name of each lock' 0 "TOKEN *HELD *LEFT *OWNER *NAME
*$first *s *s *a  *x" '' in_store locks
is 'unlock by the owner prints nothing' 0 '' '' in_store unlock x --owner a
nobody="lock 'x' is free: it was never taken, or its lease has expired"
is 'unlock of a free lock exits with 1' 1 '' "$nobody" in_store unlock x --owner a
is 'renew of a free lock exits with 1' 1 '' "$nobody" in_store renew x --owner a
in_store lock y --owner a >/dev/null
is 'unlock --json prints key and owner' 0 '{"key":"y","owner":"a"}' '' in_store unlock y --owner a --json

# Owners that lock makes up
like 'lock without --owner prints the owner that it has made up' 0 "[1-9]*	*:*:*" '' in_store lock x
owner=$(cut -f 2 "$temporary/out")
is 'a second lock without --owner has another owner, and exits with 1' 1 '' \
	"lock 'x' is held by '$owner', *" in_store lock x
is 'unlock by an owner that lock has made up exits with 0' 0 '' '' in_store unlock x --owner "$owner"

# Tokens
last=$first
wrong=
for i in 1 2 3 4 5; do
	token=$(in_store lock x --owner "o$i")
	[ "$token" -gt "$last" ] || wrong="$token after $last"
	last=$token
	in_store unlock x --owner "o$i"
done
result 'the token grows with each grant after an unlock' "$wrong"

# A command that waits for a grant takes no token before, so a faster command gets the smaller
# token. The test delays a command at the advisory lock on which grants of one lock wait.
mkfifo "$temporary/fifo"
"$bin/psql" -X -q -A -t -d "$store" <"$temporary/fifo" >"$temporary/psql" &
exec 8>"$temporary/fifo"
echo "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('lock/x', 0));" >&8
at_last is_sql 1 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
in_store lock x --owner slow >"$temporary/slow" &
slow=$!
at_last is_sql 1 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
is 'lock that waits for a grant takes no token from the sequence' 0 "$last" '' sql \
	'SELECT last_value FROM hashbelt_lock_token'
echo 'COMMIT;' >&8
exec 8>&-
wait $slow
result 'lock that has waited for a grant takes the next token' \
	"$(echo $((last + 1)) | cmp - "$temporary/slow" 2>&1)"
in_store unlock x --owner slow

# Types and tables
in_store lock x --owner a >/dev/null
like 'lock --type takes a lock of a name that is held in another type' 0 '[1-9]*' \
	'' in_store lock --type invoice x --owner b
like 'locks --type prints the locks of this type' 0 '{"key":"x","owner":"b",*}' '' \
	in_store locks --type invoice --json
is 'unlock --type exits with 0' 0 '' '' in_store unlock --type invoice x --owner b
is 'unlock --type leaves the lock of another type' 1 '' "lock 'x' is held by 'a', *" in_store lock x --owner b
# shellcheck disable=SC2016 # what looks like a variable is none
odd='odd "table"; DROP TABLE hashbelt_lock; -- $1 %s'
is 'lock --create-table takes a --table name with metacharacters' 0 '' '' \
	in_store lock --table "$odd" --create-table
like 'lock --table takes a lock in a table with metacharacters' 0 '1' '' \
	in_store lock --table "$odd" x --owner b
like 'locks --table prints the locks of a table with metacharacters' 0 \
	'{"key":"x","owner":"b","token":1,*}' '' in_store locks --table "$odd" --json
is 'unlock --table unlocks in a table with metacharacters' 0 '' '' in_store unlock --table "$odd" x --owner b
is 'locks --table of a missing table exits with 3' 3 '' "the store: relation \"nix\" does not exist: *" \
	in_store locks --table nix
is 'unlock in the default table exits with 0 beside other tables' 0 '' '' in_store unlock x --owner a

# Names and owners with any bytes
sly="x'; DELETE FROM hashbelt_lock; -- \\ \" \$1 %s %"
who="o'; DROP TABLE hashbelt_lock; -- \$2"
like 'lock takes a name and an owner with metacharacters' 0 '[1-9]*' '' in_store lock "$sly" --owner "$who"
like 'lock of a held name with metacharacters exits with 1' 1 '' "lock 'x'; DELETE * is held by 'o'; DROP *" \
	in_store lock "$sly" --owner other
is 'renew takes a name and an owner with metacharacters' 0 '' '' in_store renew "$sly" --owner "$who"
like 'locks prints a name and an owner with metacharacters' 0 \
	"{\"key\":\"x'; DELETE FROM hashbelt_lock; -- * \$1 %s %\",\"owner\":\"o'; DROP *}" \
	'' in_store locks --owner "$who" --json
is 'locks --owner of an owner with one more space prints nothing' 0 '' '' in_store locks --owner "$who "
is 'unlock takes a name and an owner with metacharacters' 0 '' '' in_store unlock "$sly" --owner "$who"
is 'no row is left after unlocks of names with metacharacters' 0 0 '' sql 'SELECT count(*) FROM hashbelt_lock'
like 'lock -e takes an escaped name' 0 '[1-9]*' '' in_store lock -e 'a\tb\n' --owner a
like 'locks escapes a name' 0 '*  a\\tb\\n' '' in_store locks
is 'unlock -e takes an escaped name' 0 '' '' in_store unlock -e 'a\tb\n' --owner a
like 'lock takes a name and an owner in UTF-8' 0 '[1-9]*' '' in_store lock 'Zürich' --owner 'Jürg'
is 'unlock takes a name and an owner in UTF-8' 0 '' '' in_store unlock 'Zürich' --owner 'Jürg'
utf8='that is in a store must be UTF-8 and without \\x00'
is 'lock of a name that is not UTF-8 exits with 2' 2 '' "the store: the name of a lock $utf8" \
	in_store lock "$(printf 'a\377')" --owner a
is 'lock of a name with a NUL exits with 2' 2 '' "the store: the name of a lock $utf8" \
	in_store lock -e 'a\x00' --owner a
is 'lock --owner that is not UTF-8 exits with 2' 2 '' "the store: an owner $utf8" \
	in_store lock x --owner "$(printf 'a\377')"
long=$(text 1024)
like 'lock takes a name of 1024 and an owner of 64 bytes' 0 '[1-9]*' '' \
	in_store lock "$long" --owner "$(text 64)"
is 'unlock takes a name of 1024 and an owner of 64 bytes' 0 '' '' in_store unlock "$long" --owner "$(text 64)"

# Aged locks
last=$(in_store lock x --owner a)
age x
is 'locks does not print an aged lock' 0 '' '' in_store locks
is 'renew of an aged lock exits with 1' 1 '' "$nobody" in_store renew x --owner a
like 'lock of an aged lock by another owner exits with 0' 0 '[1-9]*' '' in_store lock x --owner b
larger 'lock of an aged lock by another owner prints a larger token' "$(cat "$temporary/out")" "$last"
is 'unlock by the former owner of an aged lock exits with 1' 1 '' "lock 'x' is held by 'b', not by 'a': *" \
	in_store unlock x --owner a
last=$(token_of b)
age x
larger 'lock of an aged lock by its former owner prints a larger token' "$(in_store lock x --owner b)" "$last"
result 'lock of an aged lock by its former owner starts held_ms anew' "$(
	held=$(field held_ms in_store locks)
	[ "$held" -lt 60000 ] || echo "$held ms")"
age x
is 'unlock of an aged lock by its owner exits with 1' 1 '' "$nobody" in_store unlock x --owner b
is 'unlock of an aged lock by its owner removes its row' 0 '' '' lock_row x
for i in 1 2 3; do
	in_store lock "aged$i" --owner a
	age "aged$i"
done >/dev/null
in_store lock --type other aged1 --owner a >/dev/null
sql "UPDATE hashbelt_lock SET lease = clock_timestamp() WHERE object_type = 'other'"
in_store lock fresh --owner a >/dev/null
is 'release --aged prints how many aged locks it has removed' 0 3 '' in_store release --aged
is 'release --aged --type removes aged locks of this type' 0 '{"released":1}' \
	'' in_store release --aged --type other --json
is 'release --aged leaves locks whose lease runs' 0 fresh '' sql 'SELECT object_key FROM hashbelt_lock'

# Release of an owner
for i in 1 2 3; do
	in_store lock "a$i" --owner a
	in_store lock "b$i" --owner b
done >/dev/null
age a3
is 'release prints how many locks the owner has had, aged ones included' 0 3 '' in_store release --owner a
is 'locks --owner after release prints nothing' 0 '' '' in_store locks --owner a
is 'release leaves the locks of other owners' 0 3 '' sql 'SELECT count(*) FROM hashbelt_lock'
is 'release --json of an owner without locks prints 0' 0 '{"released":0}' '' in_store release --owner a --json
is 'release of a second owner prints its number of locks' 0 3 '' in_store release --owner b

# Notification of waiters
# notifies NAME COMMAND... - a test: the command notifies the channel that lock x was unlocked.
notifies() {
	name=$1
	shift
	run "$bin/psql" -X -q -A -t -d "$store" -c 'LISTEN hashbelt_lock' -c "\\! $*" -c 'SELECT 1'
	result "$name" "$(grep -q 'notification "hashbelt_lock" with payload "lock/x"' \
		"$temporary/out" || cat "$temporary/out" "$temporary/err")"
}
export HASHBELT_STORE="$store"
in_store lock x --owner a >/dev/null
notifies 'unlock notifies waiters of the lock' hbctl unlock x --owner a
in_store lock x --owner a >/dev/null
notifies 'release notifies waiters of the lock' hbctl release --owner a
in_store lock x --owner a >/dev/null
age x
notifies 'release --aged notifies waiters of the lock' hbctl release --aged

# The environment
like 'lock uses the store in HASHBELT_STORE' 0 '[1-9]*' '' hbctl lock x --owner a
is 'a lock taken with HASHBELT_STORE is held in that store' 1 '' \
	"lock 'x' is held by 'a', *" in_store lock x --owner b
is 'lock -D uses a device despite HASHBELT_STORE' 3 '' 'there is no device /nonexistent: *' \
	hbctl -D /nonexistent lock x --owner a
is 'release uses the store in HASHBELT_STORE' 0 1 '' hbctl release --owner a
HASHBELT_STORE=''
is 'locks with an empty HASHBELT_STORE uses the device' 3 '' 'there is no device *' \
	hbctl locks -D /nonexistent
unset HASHBELT_STORE
is 'locks --store takes a URI' 0 '' '' hbctl locks --store "postgresql://hashbelt@127.0.0.1:$port/postgres"
is 'the table has an index on owner and type' 0 1 '' sql \
	"SELECT count(*) FROM pg_indexes WHERE tablename = 'hashbelt_lock'
		AND indexdef LIKE '%(owner, object_type)'"

finish
