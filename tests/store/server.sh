# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck disable=SC2154 # $temporary is tap.sh's
#
# server.sh - sourced after tap.sh by the tests of locks in a store: starts a temporary
# PostgreSQL in a temporary directory, and removes both at the end.
#
#	$store	connection string, by its socket
#	$port	its port on 127.0.0.1

bin=$(pg_config --bindir)
data=$(mktemp -d /tmp/hashbelt-store-XXXXXX)

# PostgreSQL refuses to run as root.
if [ "$(id -u)" = 0 ]; then
	chown nobody "$data"
	as() {
		(cd / && runuser -u nobody -- "$@")
	}
else
	as() {
		"$@"
	}
fi

# free_port - print a free port of 127.0.0.1.
free_port() {
	perl -MIO::Socket::INET -e '
		print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'
}

# server ACTION OPTION... - start, stop or restart the server.
server() {
	as "$bin/pg_ctl" -D "$data/base" -w -s -l "$data/log" \
		-o "-p $port -k $data -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=60" \
		"$@" </dev/null >/dev/null 2>&1
}

# shellcheck disable=SC2317 # called by the trap
end_server() {
	ended=$?
	server stop -m immediate
	rm -rf "$data"
	(exit $ended)
	leave
}
trap end_server EXIT
trap "exit 1" INT TERM HUP

# These variables may name another database.
unset PGHOST PGPORT PGDATABASE PGUSER PGPASSWORD PGSERVICE PGOPTIONS HASHBELT_STORE

as "$bin/initdb" -D "$data/base" -U hashbelt -A trust -E UTF8 --locale=C -N \
	>"$temporary/initdb" 2>&1 || {
	sed 's/^/# /' "$temporary/initdb"
	exit 1
}
# Another process may take the port before the server does: try again with another port.
for _ in 1 2 3 4 5; do
	port=$(free_port)
	server start && break
done
store="host=$data port=$port user=hashbelt dbname=postgres"

# sql STATEMENT - print the result of a statement.
sql() {
	"$bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$store" -c "$1"
}
sql 'SELECT 1' >"$temporary/out" || {
	sed 's/^/# /' "$data/log"
	exit 1
}

# in_store COMMAND ARGUMENT... - run hbctl COMMAND on the locks of this server.
in_store() {
	command=$1
	shift
	hbctl "$command" --store "$store" "$@"
}

# is_sql WANTED STATEMENT - true if the result of a statement is WANTED.
is_sql() {
	[ "$(sql "$2")" = "$1" ]
}

# larger NAME TOKEN THAN - a check: the token is a number, and larger than another.
larger() {
	result "$1" "$([ "$2" -gt "$3" ] || echo "expected more than $3, found $2")"
}

# lasts NAME MOST COMMAND... - a check: the lease of the lock that the command prints lasts for at most so many
# milliseconds, of which at most 100,000 are gone.
lasts() {
	name=$1 most=$2
	shift 2
	left=$(field ttl_ms "$@")
	result "$name" "$([ "$left" -gt $((most - 100000)) ] && [ "$left" -le "$most" ] || echo "$left ms left")"
}

# lock_row NAME - print owner and token of a lock, whether its lease is over or not.
lock_row() {
	sql "SELECT owner, token FROM hashbelt_lock WHERE object_key = '$1'"
}

# age NAME - end the lease of a lock by hand.
age() {
	sql "UPDATE hashbelt_lock SET lease = clock_timestamp() - interval '1 hour'
		WHERE object_key = '$1'"
}
