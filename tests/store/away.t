#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# away.t - locks in a store of which clients lose sight: a server that is restarted, clients that are
# frozen, clocks that differ by an hour, and a network that drops packets.
#
# It runs in a network namespace of its own, and libfaketime leaves files in a /dev/shm of its own. Needs root.
set -u

[ "${HASHBELT_APART-}" ] || HASHBELT_APART=yes exec unshare --net --mount "$0"

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

mount -t tmpfs tmpfs /dev/shm
ip link set lo up
# shellcheck source=tests/store/server.sh
. "$(dirname "$0")/server.sh"
# shellcheck source=tests/hbctl/locks.sh
. "$(dirname "$0")/../hbctl/locks.sh"
# shellcheck source=tests/store/node.sh
. "$(dirname "$0")/node.sh"

in_store lock --create-table || exit 1

# shellcheck disable=SC2317 # called by at_last
# is_waiting - true if a client waits for a lock.
is_waiting() {
	is_sql 1 "SELECT count(*) FROM pg_stat_activity
		WHERE application_name = 'hbctl' AND state = 'idle' AND query LIKE 'SELECT owner%'"
}

# shellcheck disable=SC2317 # called by at_last
# is_free NAME - true if the lease of a lock is over.
is_free() {
	is_sql 0 "SELECT count(*) FROM hashbelt_lock WHERE object_key = '$1' AND lease > clock_timestamp()"
}

# store TOKEN VALUE - write to a store that refuses a token smaller than the largest that it has seen.
cat >"$temporary/store" <<'END'
#!/bin/sh
cd "${0%/*}" && exec 9>lock && flock 9 || exit
read -r largest <largest
[ "$1" -ge "$largest" ] || exit 1
echo "$1" >largest
echo "$2" >value
END
chmod +x "$temporary/store"
echo 0 >"$temporary/largest"

# The server is restarted
in_store lock x --owner a --ttl 1h >/dev/null
later waiter hbctl lock x --owner b --wait forever --store "$store"
at_last is_waiting
server restart -m fast
ended 'lock --wait exits with 3 when the server is restarted' waiter 3 '' 'the store: *'
is 'a lock is held after a restart of the server' 1 '' "lock 'x' is held by 'a', *" in_store lock x --owner b
is 'its owner unlocks it after a restart of the server' 0 '' '' in_store unlock x --owner a

# A client is frozen past its lease
mkfifo "$temporary/fifo"
# shellcheck disable=SC2016 # for the command's shell
later frozen hbctl lock x --owner a --ttl 2s --store "$store" -- sh -c '
	echo $$ $HASHBELT_LOCK_TOKEN >"$0/child"
	"$0/store" $HASHBELT_LOCK_TOKEN early || exit
	read -r go <"$0/fifo"
	trap "" TERM
	"$0/store" $HASHBELT_LOCK_TOKEN late
	echo $? >"$0/late"' "$temporary"
frozen=$pid
at_last grep -qsx early "$temporary/value"
read -r child token <"$temporary/child"
kill -s STOP "$frozen" "$child"
next=$(in_store lock x --owner b --wait 1h)
larger 'a lock whose holder is frozen past its lease is granted with a larger token' "$next" "$token"
is 'a store that checks tokens takes the write of the next owner' 0 '' '' "$temporary/store" "$next" next
kill -s CONT "$child"
echo go >"$temporary/fifo"
at_last test -s "$temporary/late"
is 'a store that checks tokens refuses the late write of the frozen command' 0 1 '' cat "$temporary/late"
is 'the value is that of the next owner' 0 next '' cat "$temporary/value"
kill -s CONT "$frozen"
ended 'hbctl that was frozen past its lease exits with 4: the lock is lost' frozen 4 '' "lock 'x' is lost *"
is 'it leaves the lock of the next owner' 0 '' '' in_store unlock x --owner b

# at HOURS - print the command env with a clock that is wrong by so much. The program faketime would not end
# before the server does.
at() {
	echo "env LD_PRELOAD=$(echo /usr/lib/*/faketime/libfaketime.so.1) FAKETIME=$1h FAKETIME_DONT_FAKE_MONOTONIC=1"
}

# Clocks of clients
result 'the clock of the tests of clocks is wrong' "$(
	off=$(($($(at +1) date +%s) - $(date +%s)))
	[ $off -ge 3599 ] && [ $off -le 3601 ] || echo "by $off s")"
for hours in -1 +1; do
	# shellcheck disable=SC2046 # a command
	like "a client whose clock is off by $hours hour locks" 0 '[1-9]*' '' \
		$(at $hours) hbctl lock x --owner a --ttl 10m --store "$store"
	lasts "a lease by a client whose clock is off by $hours hour follows the clock of the database" 600000 \
		in_store locks
	is "a lock by a client whose clock is off by $hours hour is refused to one whose clock is right" \
		1 '' "lock 'x' is held by 'a', *" in_store lock x --owner b
	in_store unlock x --owner a
	in_store lock x --owner a --ttl 10m >/dev/null
	# shellcheck disable=SC2046 # a command
	is "a client whose clock is off by $hours hour is refused a lock that is held" \
		1 '' "lock 'x' is held by 'a', *" $(at $hours) hbctl lock x --owner b --store "$store"
	in_store unlock x --owner a
done

# The clock of the database
token=$(in_store lock x --owner a --ttl 10m)
node base stop -m fast
under=$(at +1)
node base start
next=$(in_store lock x --owner b --ttl 10m)
larger 'if the clock of the database steps forward, leases are over early, and tokens grow' "$next" "$token"
node base stop -m fast
under='env'
node base start
lasts 'if the clock of the database steps back, leases last longer' 4200000 in_store locks
in_store unlock x --owner b
larger 'if the clock of the database steps back, tokens grow' "$(in_store lock x --owner a)" "$next"
in_store unlock x --owner a

# The network between a client and the database. The client is in a network namespace of its own.
node base stop -m fast
echo 'host all all 10.0.0.0/24 trust' >>"$data/base/pg_hba.conf"
listen='*'
node base start
unshare --net sleep 1000 &
far=$!
# shellcheck disable=SC2317 # called by at_last
is_apart() {
	[ "$(readlink /proc/"$far"/ns/net)" != "$(readlink /proc/self/ns/net)" ]
}
at_last is_apart
ip link add near type veth peer name far netns "$far"
ip addr add 10.0.0.1/24 dev near
ip link set near up
nsenter --target "$far" --net sh -c 'ip addr add 10.0.0.2/24 dev far; ip link set far up'

far_store="host=10.0.0.1 port=$port user=hashbelt dbname=postgres"

# shellcheck disable=SC2317 # called by is
# far COMMAND ARGUMENT... - run hbctl COMMAND over the network.
far() {
	command=$1
	shift
	nsenter --target "$far" --net hbctl "$command" --store "$far_store" "$@"
}

# network STATE - let the network drop all packets to the database (down), or not (up): packets for an address
# of Ethernet that nobody has.
network() {
	case $1 in
	down) set -- replace 10.0.0.1 lladdr 02:00:00:00:00:01 nud permanent ;;
	up) set -- del 10.0.0.1 ;;
	esac
	nsenter --target "$far" --net ip neigh "$@" dev far
}

# shellcheck disable=SC2317 # called by at_last
# renewed NAME LEASE - true if the lease is no longer LEASE.
renewed() {
	! is_sql "$2" "SELECT lease FROM hashbelt_lock WHERE object_key = '$1'"
}

# hold NAME - start a command under lock x over the network; it ends when the fifo is written to.
hold() {
	rm -f "$temporary/ready"
	# shellcheck disable=SC2016 # for the command's shell
	later "$1" nsenter --target "$far" --net hbctl lock x --owner a --ttl 6s --store "$far_store" -- \
		sh -c ': >"$0/ready"; read -r go <"$0/fifo"' "$temporary"
	at_last test -e "$temporary/ready"
	lease=$(sql "SELECT lease FROM hashbelt_lock WHERE object_key = 'x'")
}

hold short
at_last renewed x "$lease"
network down
# Longer than a third of the lease, so that a renewal is dropped.
sleep 3
network up
lease=$(sql "SELECT lease FROM hashbelt_lock WHERE object_key = 'x'")
at_last renewed x "$lease"
echo go >"$temporary/fifo"
ended 'a command keeps its lock when packets are dropped for less than its lease' short 0 '' ''
hold long
read -r _ token <<END
$(lock_row x | tr '|' ' ')
END
network down
is 'lock --wait 2s exits with 3 when packets are dropped' 3 '' \
	'the store: the server did not take the connection within 2s' far lock y --wait 2s
next=$(in_store lock x --owner b --wait 1h)
larger 'the lock goes to a client that reaches the database when the lease is over' "$next" "$token"
ended 'hbctl ends the command with SIGTERM when packets are dropped for longer than its lease' long 143 '' \
	"lock 'x' is lost (*): the command is asked to end (SIGTERM)"
network up
is 'the lock of the next owner stays' 0 "b|$next" '' lock_row x

# A server that is gone, before one that answers
nsenter --target "$far" --net ip neigh replace 10.0.0.9 lladdr 02:00:00:00:00:01 nud permanent dev far
far_store="host=10.0.0.9,10.0.0.1 port=$port user=hashbelt dbname=postgres"
is 'without tcp_user_timeout, lock does not try the second server when the first drops packets' 3 '' \
	'the store: the server did not take the connection within 4s' far lock y --owner a --wait 4s
far_store="$far_store tcp_user_timeout=1000"
like 'with tcp_user_timeout=1000, lock tries the second server when the first drops packets' 0 '[1-9]*' '' \
	far lock y --owner a --wait 4s
kill "$far"
finish
