# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# shellcheck disable=SC2154 # $temporary is tap.sh's
#
# server.sh - sourced after tap.sh by the tests of locks in a store: a PostgreSQL of
# their own, in a directory of its own, that is gone in the end.
#
#	$store	how to connect to it, by its socket
#	$port	where it listens on 127.0.0.1 as well

bin=$(pg_config --bindir)
data=$(mktemp -d /tmp/hashbelt-store-XXXXXX)

# It refuses to run as root.
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

# free_port - one that nobody listens on.
free_port() {
	perl -MIO::Socket::INET -e '
		print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'
}

# server ACTION OPTION... - start, stop or restart it.
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
# Somebody may take the port between the question and its use.
for _ in 1 2 3 4 5; do
	port=$(free_port)
	server start && break
done
store="host=$data port=$port user=hashbelt dbname=postgres"

# sql STATEMENT - what the database says to that.
sql() {
	"$bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$store" -c "$1"
}
sql 'SELECT 1' >"$temporary/out" || {
	sed 's/^/# /' "$data/log"
	exit 1
}

# in_store COMMAND ARGUMENT... - hbctl COMMAND on the locks there.
in_store() {
	command=$1
	shift
	hbctl "$command" --store "$store" "$@"
}

# is_sql WANTED STATEMENT - whether the database says that.
is_sql() {
	[ "$(sql "$2")" = "$1" ]
}

# lock_row NAME - owner and token of a lock, whether its lease is over or not.
lock_row() {
	sql "SELECT owner, token FROM hashbelt_lock WHERE object_key = '$1'"
}

# age NAME - end the lease of a lock by hand.
age() {
	sql "UPDATE hashbelt_lock SET lease = clock_timestamp() - interval '1 hour'
		WHERE object_key = '$1'"
}
