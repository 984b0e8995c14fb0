#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# dialogues.t SERVER - hold the dialogues of this folder with a server, which the script starts:
#
#	memcached-SUITE	that of a suite of Debian, so that the dialogues are right
#	redis-SUITE	the same for those of redis/
#	valkey		those of redis/; redis-server is Valkey's
#	hbserve		with the module, in a guest
#	hbserve-fake	with entries in its own memory, and ASan and UBSan
#	hbserve-threads	so, with TSan, and with random requests of several clients at once
#
# SPLITS is the largest number of places at which a dialogue is split.
set -u
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
directory=$(mktemp -d)
server=$1
tap=$directory/tap
: >"$tap"

# result NAME STATUS FILE... - a check, which passes if the status is 0; else it prints the files.
result() {
	[ "$2" = 0 ] || {
		echo "# tests/serve/dialogues.t: expected status 0, found $2"
		sed 's/^/# /' "$3"
		printf 'not '
	} >>"$tap"
	echo "ok 1 - $1" >>"$tap"
}

# start NAME COMMAND... - start a server, whose last option is its socket, on the socket NAME, and wait until it is
# there.
start() {
	socket=$directory/$1
	log=$directory/$1.log
	shift
	"$@" "$socket" >"$log" 2>&1 &
	process=$!
	while [ ! -S "$socket" ] && kill -0 $process 2>/dev/null; do
		sleep 0.01
	done
}

# stop NAME - a check: the server ends with 0 after SIGTERM, and its sanitizers find nothing.
stop() {
	kill -TERM $process
	wait $process
	status=$?
	! grep -qE 'Sanitizer|runtime error' "$log" || status="a report of a sanitizer"
	result "$1 ends with status 0, and its sanitizers find nothing" "$status" "$log"
}

hold() {
	"$here/dialogue.py" --server "$name" --splits "${SPLITS:-100000}" "$@" >"$directory/held"
	ended=$?
	cat "$directory/held" >>"$tap"
	# It ends with 1 after a dialogue that fails, and after an exception: the plan comes last.
	[ $ended -le 1 ] && grep -qE '^(1\.\.|Bail out!)' "$directory/held" ||
		echo "not ok 1 - dialogue.py ends with status $ended" >>"$tap"
}

# serve_redis OPTION... - hold the dialogues of the protocol of Redis, and again with passwords.
serve_redis() {
	name=hbserve-redis
	start redis "$@" --protocol redis --database 1=other -s
	hold "$socket" "$here"/redis/*.txt "$here/databases.txt"
	[ "$server" = hbserve ] || hold "$socket" "$here/moved.txt"
	stop "$server with the protocol of Redis"
	start redis-auth "$@" --protocol redis -Y "$directory/passwords" -s
	hold --auth "alice secret" "$socket" "$here/redis_auth.txt"
	stop "$server with the protocol of Redis, and passwords"
}

# serve OPTION... - hold the dialogues with a server that has these options, and again with passwords.
serve() {
	dump=''
	[ "$name" != hbserve ] || dump=--enable-dump
	# shellcheck disable=SC2086 # no word if empty
	start plain "$@" $dump -s
	hold "$socket" "$here"/dialogues/*.txt
	[ "$name" = "$server" ] || hold "$socket" "$here/room.txt"
	[ "$server" != hbserve-threads ] || {
		"$here/load.py" "$socket" 8 100000 "${SEED:-1}" >"$directory/load" 2>&1
		result "100,000 random requests of eight clients at once" $? "$directory/load"
	}
	stop "$server"
	start auth "$@" -Y "$directory/passwords" -s
	hold --auth "alice secret" "$socket" "$here/auth.txt"
	stop "$server with passwords"
}

printf 'alice:secret\nbob:b c:d\n' >"$directory/passwords"
chmod 600 "$directory/passwords"
export FAKE_GRACE_MS=60000
name=${server%-fake}
name=${name%-threads}
case $server in
memcached-*) serve memcached -u root -t 2 ;;
redis-* | valkey)
	start redis redis-server --port 0 --save '' --daemonize no --dir "$directory" --unixsocket
	hold "$socket" "$here"/redis/*.txt
	stop "$server"
	;;
hbserve)
	hbctl destroy main 2>/dev/null
	hbctl create main --ttl 5m --grace 1m
	hbctl destroy other 2>/dev/null
	hbctl create other --ttl 5m
	serve hbserve -b main -t 2
	hbctl set main --on-expire notify
	serve_redis hbserve -b main -t 2
	;;
*)
	serve "$server" -t 4
	serve_redis "$server" -t 4
	;;
esac
awk '/^(not )?ok [0-9]+ / { sub(/[0-9]+/, ++count) }
	/^1\.\./ { next }
	/^not / { failures++ }
	1
	END {
		print "1.." count
		exit failures > 0
	}' "$tap"
status=$?
rm -rf "$directory"
exit $status
