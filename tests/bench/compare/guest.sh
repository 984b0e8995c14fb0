#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh SCENARIO - in a guest: measure, and print lines of JSON. tests/bench/figures.sh has the
# scenarios, and the form of the lines.
set -eu

all="hashbelt window lmdb bpf-hash bpf-hash-malloc bpf-lru memcached hbserve redis keyring keyring-id"
some="hashbelt bpf-hash memcached redis keyring"
expiring="hashbelt memcached redis hbserve-redis keyring"

# start PEER - start the server, if the peer is one; sets server, and arguments to what compare
# needs.
start() {
	server='' arguments=$1
	case $1 in
	# The bytes of the reply to a get.
	echo) ./echo "$sockets/echo" 100 & ;;
	memcached) memcached -u root -t 1 -c 4096 -m 16384 -s "$sockets/memcached" & ;;
	hbserve) hbserve -t 1 -c 4096 -b default -s "$sockets/hbserve" & ;;
	hbserve-redis) hbserve --protocol redis -t 1 -c 4096 -b default -s "$sockets/hbserve-redis" & ;;
	redis | valkey)
		"$1-server" --version
		"$1-server" --port 0 --unixsocket "$sockets/$1" --save '' --appendonly no \
			--io-threads 1 --loglevel warning --logfile "$sockets/log" >"$sockets/printed" 2>&1 &
		;;
	*) return 0 ;;
	esac
	server=$!
	arguments="--server $server $1=$sockets/$1"
	# A server takes memory while it starts.
	sleep 1
}

# stop - end the server of start, if there is one.
stop() {
	[ "$server" ] || return 0
	kill "$server"
	wait "$server" || true
}

# compare "PEER..." [OPTION]... - measure the peers, each with a server of its own.
compare() {
	peers=$1
	shift
	for peer in $peers; do
		start "$peer"
		# shellcheck disable=SC2086 # words
		./compare --json "$@" $arguments
		stop
	done
}

# ask PEER KEYS - let memcslap, the benchmark of libmemcached, send requests to a new server. Prints lines
# "PEER TEST INSTRUCTIONS" with the instructions for each key: a second is 10^9 of them. Neither side takes
# the processor from the other, as in compare.c: else memcslap finds a reply at its first look, or waits for it.
ask() {
	start "$1"
	for task in "/proc/$server/task/"*; do
		chrt -b -p 0 "${task##*/}"
	done
	for test in get mget set; do
		chrt -b 0 memcslap --servers="$sockets/$1" --flush --execute-number="$2" --test=$test >"$sockets/said"
		awk -v peer="$1" '/ keys by / { print peer, $3, $9 * 1e9 / $4; found = 1 } END { exit !found }' \
			"$sockets/said"
	done
	stop
}

# slap ROUNDS KEYS - measure servers with memcslap in turn, and print the median of the rounds, an odd
# number of them: memcslap chooses the sizes of keys and values at random.
slap() {
	for round in $(seq "$1"); do
		echo "memcslap, round $round of $1"
		ask memcached "$2" >>"$sockets/asked"
		ask hbserve "$2" >>"$sockets/asked"
	done
	sort -k 1,1r -k 2,2 -k 3,3n "$sockets/asked" | awk -v rounds="$1" 'NR % rounds == int(rounds / 2 + 1) % rounds {
		printf "{\"figure\":\"client\",\"peer\":\"%s\",\"operation\":\"memcslap %s\",", $1, $2
		printf "\"unit\":\"instructions\",\"cost\":%.1f}\n", $3
	}'
}

# costs NUMBERS OPTION "PEER..." [OPTION]... - measure the peers with each of the numbers.
costs() {
	numbers=$1 option=$2
	shift 2
	for number in $numbers; do
		compare "$@" "$option" "$number"
	done
}

# occupy - let a task that never pauses run on each of two processors, and others on both.
occupy() {
	for processor in 1 2; do
		taskset "$processor" ./spin &
	done
	taskset -p 3 $$ >/dev/null
}

operations="get hit;get miss;put new;put replace;touch;remove"

measure() {
	case $1 in
	peers) compare "$all" --unit instructions ;;
	times) compare "$all" --unit ns ;;
	sizes)
		for entries in 1000 100000 1000000; do
			for buckets in 5 500; do
				./bench --json --entries $entries --buckets $buckets
			done
		done
		;;
	entries)
		set -- --unit instructions --operations "get hit;put replace"
		costs "1000 10000 100000" --entries "memcached redis keyring" --rounds 50 "$@"
		costs "1000 10000 100000 1000000" --entries bpf-hash "$@"
		costs "1000 10000 100000 1000000 10000000" --entries hashbelt "$@"
		;;
	buckets)
		costs "2 8 32 128 512 2048 8192 65536" --buckets hashbelt --entries 10000 \
			--unit instructions --operations "$operations"
		;;
	belts)
		costs "1 10 100 1000 10000 100000" --belts hashbelt --buckets 60 \
			--unit instructions --operations "$operations"
		;;
	serve)
		compare "$servers" --unit instructions --rounds 50
		compare echo --unit instructions --rounds 50 --operations "get hit"
		compare "memcached hbserve" --entries 1000 --idle 2000
		slap 3 5000
		;;
	memory) costs "16 64 256 1024" --value-size "$some bpf-lru" --memory ;;
	expiry) compare "$expiring" --entries 1000000 --expiry ;;
	expiry-busy)
		occupy
		compare "hashbelt memcached redis hbserve-redis" --entries 1000000 --expiry
		;;
	expiry-busy-*)
		occupy
		compare "hashbelt memcached" --entries 1000000 --expiry
		;;
	expiry-*) compare "hashbelt memcached" --entries 1000000 --expiry ;;
	busy-trial)
		occupy
		compare hashbelt --entries 1000 --expiry
		;;
	trial)
		compare "$all" --entries 1000 --rounds 2 --unit instructions
		compare echo --entries 1000 --rounds 2 --unit instructions --operations "get hit"
		compare hashbelt --entries 100000 --memory
		compare hashbelt --entries 1000 --expiry
		slap 1 1000
		;;
	*)
		echo "guest.sh: no such scenario: $1" >&2
		exit 2
		;;
	esac
}

PATH=$PATH:/usr/bin
sockets=$(mktemp -d)
servers="memcached hbserve redis hbserve-redis"
# Programs with libraries of their own, which are found before those of the same names.
if [ -e /newest ]; then
	servers="$servers valkey"
	for program in redis-server valkey-server; do
		printf '#!/bin/sh\nexec %s --library-path %s /newest/usr/bin/%s "$@"\n' \
			/newest/lib64/ld-linux-x86-64.so.2 /newest/usr/lib/x86_64-linux-gnu $program \
			>"$sockets/$program"
		chmod +x "$sockets/$program"
	done
	PATH=$sockets:$PATH
fi
# A task that waits for another one on the same processor does not wait for a wakeup of another.
taskset -p 1 $$ >/dev/null
# A million keys are more than root may have by default. Expired ones go five seconds later, and
# not five minutes.
echo 2000000000 >/proc/sys/kernel/keys/root_maxkeys
echo 2000000000 >/proc/sys/kernel/keys/root_maxbytes
echo 5 >/proc/sys/kernel/keys/gc_delay
# The kernel's work after booting would be counted otherwise.
sleep 3
# The default limit is a share of the memory. Servers use the default belt, which has as many buckets as others.
insmod hashbelt.ko max_bytes=$((1 << 40)) buckets=500
measure "$1"
rmmod hashbelt
