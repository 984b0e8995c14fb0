#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# lock.t - the commands on locks in belts: grants, messages, and commands under a lock.
# shellcheck disable=SC2016,SC2317 # scripts of other shells; functions that tap.sh calls
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"
# shellcheck source=tests/hbctl/locks.sh
. "$(dirname "$0")/locks.sh"

# is_held NAME OWNER - whether the list has lock NAME of OWNER
is_held() {
	hbctl locks --owner "$2" --json | grep -q "\"key\":\"$1\""
}

is_free() {
	! hbctl locks --json | grep -q "\"key\":\"$1\""
}

# has_alarm PID - whether the process has handled a signal, after which it sets an alarm
has_alarm() {
	! grep -q '^\(SigPnd\|ShdPnd\):[[:space:]]*0*[1-9a-f]' "/proc/$1/status"
}

# The belt of locks
none="there is no belt 'locks', or you have no right to it: *"
is 'unlock makes no belt, and exits with 3' 3 '' "$none" hbctl unlock x --owner a
is 'renew makes no belt, and exits with 3' 3 '' "$none" hbctl renew x --owner a
is 'locks makes no belt, and exits with 3' 3 '' "$none" hbctl locks
is 'release makes no belt, and exits with 3' 3 '' "$none" hbctl release --owner a
is 'lock does not make a belt that -b names' 3 '' "there is no belt 'mine', or you have no right to it: *" \
	hbctl -b mine lock x
for i in 1 2 3 4; do
	hbctl lock "first$i" --owner first >/dev/null 2>>"$temporary/made" ||
		echo "status $?" >>"$temporary/made" &
done
wait
result 'the first of several concurrent lock commands makes their belt' "$(cat "$temporary/made")"
is 'release prints how many locks of the owner it has unlocked' 0 4 '' hbctl release --owner first
result 'lock makes the belt pinned, of mode 0600, with leases up to a day' "$(
	info=$(hbctl -b locks info --json)
	for part in '"pinned":true' '"ttl_ms":86400000' '"mode":"0600"' '"max_entries":null'; do
		case $info in
		*"$part"*) ;;
		*) echo "no $part: $info" ;;
		esac
	done)"
hbctl -b locks halt

# lock, unlock, renew
like 'lock prints the fencing token' 0 '[1-9]*' '' hbctl lock x --owner a
first=$(cat "$temporary/out")
is 'lock by the owner that has it prints the same token' 0 "$first" '' \
	hbctl lock x --owner a --ttl 1s
is 'lock by the owner that has it does not make the lease shorter' 0 \
	"{\"key\":\"x\",\"owner\":\"a\",\"token\":$first,\"ttl_ms\":60000,\"held_ms\":0,\"bound\":false}" \
	'' hbctl locks --json
hbctl -b locks advance 2500ms
is 'lock exits with 1 and names the owner if another has it' 1 '' \
	"lock 'x' is held by 'a', for 2.5s now and 57.5s more: --wait D waits for it" \
	hbctl lock x --owner b
is 'lock by the owner that has it makes the lease longer' 0 \
	"{\"key\":\"x\",\"owner\":\"a\",\"token\":$first,\"ttl_ms\":7200000,\"held_ms\":2500}" '' \
	hbctl lock x --owner a --ttl 2h --json
is 'unlock by another owner exits with 1' 1 '' "lock 'x' is held by 'a', not by 'b': *" \
	hbctl unlock x --owner b
is 'renew --ttl sets the lease' 0 \
	"{\"key\":\"x\",\"owner\":\"a\",\"token\":$first,\"ttl_ms\":600000,\"held_ms\":2500}" '' \
	hbctl renew x --owner a --ttl 10m --json
hbctl renew x --owner a
is 'renew without --ttl does not shorten a lease' 0 600000 '' field ttl_ms hbctl locks
hbctl renew x --owner a --ttl 10s
is 'renew without --ttl lengthens a lease to a minute' 0 \
	"{\"key\":\"x\",\"owner\":\"a\",\"token\":$first,\"ttl_ms\":60000,\"held_ms\":2500}" '' \
	hbctl renew x --owner a --json
is 'locks prints token, times, owner and name of each lock' 0 'HELD  LEFT  OWNER  NAME
2.5s    1m  a      x' '' sh -c 'hbctl locks | sed "s/^ *TOKEN  *//; s/^ *[1-9][0-9]*  *//"'
hbctl lock 'a	b' --owner b >/dev/null
json 'locks --owner --json prints the locks of this owner' 0 \
	'{"key":"a\tb","owner":"b","token":N,"ttl_ms":60000,"held_ms":0,"bound":false}' '' \
	hbctl locks --owner b --json
is 'unlock -e takes an escaped name' 0 '' '' hbctl unlock -e 'a\tb' --owner b
is 'unlock --json prints key and owner' 0 '{"key":"x","owner":"a"}' '' \
	hbctl unlock x --owner a --json
nobody="lock 'x' is free: it was never taken, or its lease has expired"
is 'unlock of a free lock exits with 1' 1 '' "$nobody" hbctl unlock x --owner a
like 'lock without --owner prints the owner that it has made up' 0 "[1-9]*	*:*:*" '' \
	hbctl lock x
owner=$(cut -f 2 "$temporary/out")
is 'a second lock without --owner has another owner, and exits with 1' 1 '' \
	"lock 'x' is held by '$owner', *" hbctl lock x
is 'unlock by an owner that lock has made up exits with 0' 0 '' '' hbctl unlock x --owner "$owner"

# Leases and belts
is 'lock --ttl beyond the ttl of the belt exits with 2' 2 '' \
	"lock: --ttl: the longest lease in belt 'locks' is 1d *" hbctl lock x --owner a --ttl 25h
belt plain
is 'lock on a belt that is not pinned exits with 4' 4 '' \
	"belt 'plain' may drop locks: create one with --pinned --when-full reject, or let root run *" \
	on lock x --owner a
belt short --pinned --ttl 10s
is 'lock without --ttl takes the ttl of the belt if that is shorter' 0 10000 '' \
	field ttl_ms on lock x --owner a
mode=$(stat -c %a /dev/hashbelt)
chmod 666 /dev/hashbelt
is 'user nobody: lock on a belt of root exits with 3' 3 '' "$none" nobody lock x
chmod "$mode" /dev/hashbelt

# Waits
hbctl lock x --owner a --ttl 1h >/dev/null
is 'lock --wait 0 of a held lock exits with 1 at once' 1 '' "lock 'x' is held by 'a', *" \
	hbctl lock x --owner b --wait 0
later b hbctl lock x --owner b --wait 5s
at_last asleep "$pid"
hbctl -b locks advance 6s
ended 'lock --wait exits with 1 and names the owner when its time is over' b 1 '' \
	"lock 'x' is still held by 'a', for 6s now and 59m54s more"
later b hbctl lock x --owner b --wait 5s
at_last asleep "$pid"
hbctl -b locks advance 3s
kill -s ALRM "$pid"
at_last has_alarm "$pid"
at_last asleep "$pid"
hbctl -b locks advance 2s
ended 'lock --wait that a signal interrupts ends by its first deadline in belt time' b 1 '' \
	"lock 'x' is still held by 'a', for 11s now and 59m49s more"
for number in 1 15; do # SIGHUP, SIGTERM
	later b hbctl lock x --owner b --wait forever
	at_last asleep "$pid"
	kill -$number "$pid"
	ended "signal $number ends a waiting lock command" b $((128 + number)) '' \
		"interrupted while waiting for lock 'x'"
done
hbctl unlock x --owner a
is_writing() {
	grep -q "^$write " "/proc/$1/syscall" 2>/dev/null
}
# A pipe that is full
mkfifo "$temporary/pipe"
exec 8<>"$temporary/pipe"
head -c 65536 /dev/zero >&8
hbctl lock x --owner f >&8 2>"$temporary/err" &
pid=$!
at_last is_writing "$pid"
kill "$pid"
dd bs=4096 count=16 <&8 >/dev/null 2>&1
end "$pid"
echo none >&8
read -r token <&8
exec 8<&-
result 'a signal after the grant does not keep the token from the owner' "$(check_status 143
	[ "$token" != none ] || echo 'expected a token, found none')"
hbctl release --owner f >/dev/null
result 'a waiter that a signal ended does not get the lock' "$(is_free x || hbctl locks)"

# Commands under a lock; the lease is belt time, which is halted.
json 'lock with a command takes a bound lock' 0 \
	'{"key":"x","owner":"a","token":N,"ttl_ms":60000,"held_ms":0,"bound":true}' '' \
	hbctl lock x --owner a -- hbctl locks --json
check_command hbctl 'hbctl locks'
token=$(hbctl lock x --owner a)
run hbctl lock x --owner a --ttl 2h -- true
is 'lock with a command by the owner that has it leaves the lease unchanged' 0 \
	"{\"key\":\"x\",\"owner\":\"a\",\"token\":$token,\"ttl_ms\":60000,\"held_ms\":0,\"bound\":false}" \
	'' hbctl locks --json
hbctl unlock x --owner a
is 'lock takes a name with a dash after --' 0 ran '' hbctl lock -- -x -- echo ran
later holder hbctl lock x --owner a -- sh -c \
	'trap "exit 8" TERM; : >"$0"; while :; do sleep 0.05; done' "$temporary/ready"
at_last test -e "$temporary/ready"
kill -s TERM "$pid"
ended 'hbctl passes SIGTERM on to the command and exits with its status' holder 8 '' ''
later holder hbctl lock x --owner a -- sh -c 'echo $$ >"$0"; exec sleep 1000' "$temporary/child"
at_last test -s "$temporary/child"
later waiter hbctl lock x --owner b --wait forever -- echo mine
at_last asleep "$pid"
kill -s HUP "$(cat "$temporary/child")"
rm "$temporary/child"
ended 'lock exits with 128 + N when signal N kills the command' holder 129 '' ''
ended 'the end of a command under a lock lets the next waiter run its own' waiter 0 mine ''

# hbctl is killed
later holder hbctl lock x --owner a --ttl 1d -- \
	sh -c 'echo $$ >"$0"; exec sleep 1000' "$temporary/child"
at_last test -s "$temporary/child"
killed=$pid
later waiter hbctl lock x --owner b --wait forever
at_last asleep "$pid"
kill -s KILL "$killed"
at_last has_ended waiter
result 'the kill of hbctl grants its lock to the waiter' "$(is_held x b || hbctl locks)"
at_last is_gone "$(cat "$temporary/child")"
result 'the kill of hbctl ends the command that runs under its lock' \
	"$(is_gone "$(cat "$temporary/child")" ||
	echo 'the command still runs')"
hbctl unlock x --owner b

# hbctl is killed: what its command leaves behind keeps the lock
# orphan NAME WORD... - a lock command that runs "sleep | cat" is killed
orphan() {
	rm -f "$temporary/child"
	later holder hbctl lock x --owner a "$@" -- \
		sh -c 'sh -c "echo \$\$ >\"\$0\"; exec sleep 1000" "$0" | cat; :' "$temporary/child"
	at_last test -s "$temporary/child"
	child=$(cat "$temporary/child")
	kill -s KILL "$pid"
	at_last has_ended holder
}
orphan
is 'the kill of hbctl leaves the lock to the children of its command' 1 '' \
	"lock 'x' is held by 'a', *" hbctl lock x --owner b
kill "$child"
at_last is_free x
result 'the lock is free when the last child of the command has ended' "$(is_free x || hbctl locks)"
orphan
hbctl -b locks advance 61s
like 'the lock that children of a command keep is free when its lease ends' 0 '[1-9]*' '' \
	hbctl lock x --owner b
hbctl unlock x --owner b
kill "$child"
orphan --close
is 'the kill of hbctl frees a lock with --close that its command does not keep' 0 '' '' hbctl locks
kill "$child"
is 'lock exits with the status of a command that leaves a process in the background' 0 '' '' \
	hbctl lock x --owner a -- sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! >"$0"' "$temporary/child"
child=$(cat "$temporary/child")
is 'a process that the command leaves in the background keeps the lock' 1 '' \
	"lock 'x' is held by 'a', *" hbctl lock x --owner b
kill "$child"
at_last is_free x
is 'lock --close unlocks a lock whose command leaves a process in the background' 0 '' '' \
	hbctl lock x --owner a --close -- \
	sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! >"$0"; hbctl locks --owner b' "$temporary/child"
result 'a lock with --close is free after its command' "$(is_free x || hbctl locks)"
kill "$(cat "$temporary/child")"
is 'a command that is run under a lock of a batch frees the lock at its end' 0 '' '' \
	sh -c 'printf "lock x -- true\nlock x -- true\nlocks\n" | hbctl batch'

# A command with more rights than hbctl, which cannot send it signals
belt shared --pinned --mode 0666
mode=$(stat -c %a /dev/hashbelt)
chmod 666 /dev/hashbelt
chmod 755 "$temporary"
cp "$(command -v raise)" "$temporary/raise"
chmod 4755 "$temporary/raise"
# raised WORD... - user nobody locks y in belt shared with a setuid command
raised() {
	rm -f "$temporary/child"
	later holder su -s /bin/sh nobody -c 'exec hbctl -b shared lock y --owner a "$@"' -- \
		sh "$@" -- "$temporary/raise" sh -c \
		'trap "exit 0" USR1; echo $$ >"$0"; while :; do sleep 0.05; done' "$temporary/child"
	at_last test -s "$temporary/child"
	child=$(cat "$temporary/child")
}
raised
kill -s TERM "$pid"
at_last test -s "$temporary/holder.err"
is 'the lock is held on while a command with more rights does not get a signal' 1 '' \
	"lock 'y' is held by 'a', *" on lock y --owner b
kill -s USR1 "$child"
ended 'hbctl says that it could not pass a signal on, and exits with 4' holder 4 '' \
	'cannot pass signal 15 (Terminated) on to the command: Operation not permitted: *'
is 'the lock is free after a command that could not be sent a signal' 0 '' '' on locks
raised
kill -s KILL "$pid"
at_last has_ended holder
is 'the kill of hbctl leaves the lock to a command with more rights' 1 '' \
	"lock 'y' is held by 'a', *" on lock y --owner b
kill -s USR1 "$child"
at_last is_gone "$child"
is 'the lock of a killed hbctl is free after its command with more rights' 0 '' '' on locks
raised --ttl 900ms
on release --owner a >/dev/null
at_last test -s "$temporary/holder.err"
kill -s USR1 "$child"
ended 'hbctl says that it could not end the command whose lock is lost, and exits with 4' holder 4 '' \
	"lock 'y' is lost (its lease was over), and the command runs on without it: *"
chmod "$mode" /dev/hashbelt

# Renewals: belt time advances again and again, each time by less than the lease.
later holder hbctl lock x --owner a --ttl 900ms -- sleep 1000
at_last is_held x a
token=$(field token hbctl locks)
is_renewed() {
	[ "$(field ttl_ms hbctl locks)" = 900 ]
}
for _ in 1 2 3 4 5; do
	hbctl -b locks advance 800ms
	at_last is_renewed
done
is 'hbctl renews the lease while the command runs' 0 \
	"{\"key\":\"x\",\"owner\":\"a\",\"token\":$token,\"ttl_ms\":900,\"held_ms\":4000,\"bound\":true}" \
	'' hbctl locks --json
hbctl -b locks advance 1s
ended 'hbctl ends the command with SIGTERM when its lease is over' holder 143 '' \
	"lock 'x' is lost (its lease was over): the command is asked to end (SIGTERM)"
later holder hbctl lock x --owner a --ttl 900ms -- sleep 1000
at_last is_held x a
later waiter hbctl lock x --owner thief --wait forever
at_last asleep "$pid"
hbctl release --owner a >/dev/null
ended 'hbctl ends the command with SIGTERM when another owner has the lock' holder 143 '' \
	"lock 'x' is lost (another has it): *"
hbctl release --owner thief >/dev/null
later holder hbctl lock x --owner a --ttl 900ms -- \
	sh -c 'trap "exit 0" TERM; : >"$0"; while :; do sleep 0.05; done' "$temporary/there"
at_last test -e "$temporary/there"
hbctl release --owner a >/dev/null
ended 'lock exits with 4 if the command ends with 0 after its lock is lost' holder 4 '' \
	"lock 'x' is lost *"
mkfifo "$temporary/fifo"
later holder hbctl lock x --owner a --ttl 1d -- sh -c ': >"$0"; cat "$1"' \
	"$temporary/begun" "$temporary/fifo"
at_last test -e "$temporary/begun"
hbctl release --owner a >/dev/null
: >"$temporary/fifo"
ended 'lock exits with 4 if the lock was lost between two renewals' holder 4 '' \
	"lock 'x' is lost (its lease was over)"
belt gone --pinned
later holder hbctl -b gone lock x --owner a --ttl 900ms -- sleep 1000
at_last sh -c 'hbctl -b gone locks --json | grep -q x'
hbctl destroy gone
ended 'hbctl ends the command with SIGTERM when the belt is destroyed' holder 143 '' \
	"lock 'x' is lost (its belt was destroyed): *"

# The output of a grant cannot be written
# full WORD... - lock x, with output to a full device
full() {
	sh -c 'exec hbctl lock x "$@" >/dev/full' sh "$@"
}
lost="cannot write the output: No space left on device: lock 'x'"
is 'lock whose owner cannot be printed gives the lock back' 4 '' "$lost is given back" full
is 'no owner has a lock that was given back' 0 '' '' hbctl locks
is 'lock --json whose owner cannot be printed gives the lock back' 4 '' "$lost is given back" full --json
is 'lock --owner whose token cannot be printed gives the lock back' 4 '' "$lost is given back" full --owner a
is 'no owner has one of these locks' 0 '' '' hbctl locks
hbctl lock x --owner a >/dev/null
is 'lock by the owner that has it leaves the lock held if the token cannot be printed' 4 '' \
	"$lost was held before, and is still" full --owner a
result 'the owner has the lock that it had before' "$(is_held x a || hbctl locks)"
hbctl unlock x --owner a
mkfifo "$temporary/closed"
exec 8<>"$temporary/closed"
exec 9>"$temporary/closed" 8<&-
is 'lock whose reader has gone gives the lock back' 4 '' \
	"cannot write the output: Broken pipe: lock 'x' is given back" sh -c 'exec hbctl lock x >&9'
exec 9>&-
is 'no owner has a lock whose reader has gone' 0 '' '' hbctl locks

# A status of its own for a lock that another owner has
hbctl lock y --owner a >/dev/null
is 'lock -E with a command exits with this status if another owner has the lock' 75 '' \
	"lock 'y' is held by 'a', *" hbctl lock y -E 75 -- true
is 'lock --conflict-exit-code exits with this status without a command' 9 '' \
	"lock 'y' is held by 'a', *" hbctl lock y --conflict-exit-code 9
is 'lock -E 0 exits with 0 if another owner has the lock' 0 '' "lock 'y' is held by 'a', *" \
	hbctl lock y -E 0
is 'lock -E with a command exits with this status if its owner has the lock' 75 '' \
	"lock 'y' is held by 'a' already, *" hbctl lock y --owner a -E 75 -- true
later waiter hbctl lock y -E 75 --wait 1s -- true
at_last asleep "$pid"
hbctl -b locks advance 2s
ended 'lock -E exits with this status after a wait in vain' waiter 75 '' "lock 'y' is still held by 'a', *"
is 'lock -E exits with the status of the command' 1 '' '' hbctl lock x -E 75 -- false
hbctl unlock y --owner a

# Few descriptors
is 'lock with a command and 10 descriptors names the limit' 126 '' \
	"cannot share the lock with the command: it needs a descriptor from number 10 on, and may have 10: raise *" \
	sh -c 'ulimit -n 10 && exec hbctl lock x -- true'
is 'lock --close with a command needs no more than 10 descriptors' 0 '' '' \
	sh -c 'ulimit -n 10 && exec hbctl lock x --close -- true'
is 'lock with a command works with 11 descriptors' 0 '' '' sh -c 'ulimit -n 11 && exec hbctl lock x -- true'

# Concurrent commands
count_up '' 5 10 hbctl lock counter --wait forever --

# Stores
is 'lock --store exits with 3 where hbctl-store is missing' 3 '' \
	'--store: */hbctl-store is missing: *' hbctl lock x --store dbname=x

finish
