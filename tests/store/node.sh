# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck disable=SC2154 # $bin, $data and $temporary are server.sh's and tap.sh's
#
# node.sh - sourced after server.sh by tests with more than one server: replicas in directories beside that of
# server.sh, which is called base.

echo "$port" >"$data/base.port"

# place_of NAME - print the connection string of a server.
place_of() {
	echo "host=$data port=$(cat "$data/$1.port") user=hashbelt dbname=postgres"
}

# ask NAME STATEMENT - print the result of a statement on a server.
ask() {
	"$bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$(place_of "$1")" -c "$2"
}

# shellcheck disable=SC2317 # called by at_last
# asked NAME WANTED STATEMENT - true if that result is WANTED.
asked() {
	[ "$(ask "$1" "$3" 2>&1)" = "$2" ]
}

# node NAME ACTION OPTION... - start, stop, restart or promote a server, under the command $under, with the
# addresses $listen.
under='env' listen=''
node() {
	node=$1
	shift
	# shellcheck disable=SC2086 # a command
	as $under "$bin/pg_ctl" -D "$data/$node" -w -s -l "$data/$node.log" \
		-o "-p $(cat "$data/$node.port") -k $data -c listen_addresses='$listen' -c fsync=off" \
		"$@" </dev/null >/dev/null 2>&1
}

# replicate NAME PRIMARY - make a replica of a server, start it, and wait until it follows.
replicate() {
	free_port >"$data/$1.port"
	as "$bin/pg_basebackup" -D "$data/$1" -d "$(place_of "$2") application_name=$1" -R -X stream -c fast &&
		node "$1" start && at_last asked "$2" 1 \
		"SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND application_name = '$1'"
}

# caught_up NAME PRIMARY - wait until a replica has applied all that the primary has written.
caught_up() {
	at_last asked "$1" t "SELECT pg_last_wal_replay_lsn() >= '$(ask "$2" 'SELECT pg_current_wal_lsn()')'"
}

# cut_off NAME PRIMARY - end the stream to a replica, and keep it away: from now on it lags.
cut_off() {
	ask "$1" "ALTER SYSTEM SET primary_conninfo = 'host=/nonexistent'"
	ask "$1" 'SELECT pg_reload_conf()' >/dev/null
	at_last asked "$2" 0 'SELECT count(*) FROM pg_stat_replication'
}

# fail_over PRIMARY NAME - the primary ends as in a crash, and the replica takes its place.
fail_over() {
	node "$1" stop -m immediate
	node "$2" promote
}

# shellcheck disable=SC2317 # called by the trap
# end_nodes - stop all servers; then server.sh's trap goes on.
end_nodes() {
	ended=$?
	for port in "$data"/*.port; do
		node=${port##*/}
		node "${node%.port}" stop -m immediate
	done
	(exit $ended)
	end_server
}
trap end_nodes EXIT
