#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# reload.t - hbctl reload-module. Runs in the directory of hashbelt.ko. A program modprobe of the test's
# own loads that.
# shellcheck disable=SC2016,SC2030,SC2031,SC2317 # scripts of other shells; tasks; functions that tap.sh calls
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

state=$temporary/state
module=$PWD/hashbelt.ko
here=$PWD
marker=/run/hashbelt.reload
mkdir -p /run
parameters=/sys/module/hashbelt/parameters
mkdir "$temporary/bin"
cat >"$temporary/bin/modprobe" <<.
#!/bin/sh
shift
exec insmod $module "\$@"
.
chmod 755 "$temporary/bin/modprobe"
PATH=$temporary/bin:$PATH

reload() {
	hbctl reload-module --directory "$state" "$@"
}

# shown - print all belts: settings, owner and group, state, and the entries without times left
shown() {
	hbctl export
	hbctl belts --json | sed 's/.*"name":"\([^"]*\)".*\("uid":[0-9]*\).*/\1 \2/'
	hbctl belts -o name --noheadings | while IFS= read -r name; do
		hbctl info "$name" --json | sed 's/.*\("halted":[a-z]*\).*/\1/'
		hbctl -b "$name" dump | cut -f 1,2,4 | sort
	done
}

# unchanged NAME - all belts are as they were
unchanged() {
	shown >"$temporary/out"
	cp "$temporary/before" "$temporary/wanted"
	result "$1" "$(same)"
}

# still_left - print the time that the entry of the halted belt has left
still_left() {
	hbctl -b still has a --json | sed 's/.*"ttl_ms"/"ttl_ms"/'
}

# broken FILE - a copy of the module that the kernel refuses, after it has the right name and version
broken() {
	cp "$module" "$1"
	at=$(strings -t d -n 12 "$module" | sed -n 's/^ *\([0-9]*\) vermagic=.*/\1/p')
	line=$(strings -n 12 "$module" | grep '^vermagic=')
	before=${line%mod_unload*}
	printf X | dd of="$1" bs=1 seek=$((at + ${#before})) conv=notrunc 2>/dev/null
}

# opened NAME - the device is open to all, and nobody waits for it
opened() {
	result "$1" "$([ "$(cat $parameters/closed)" = 0 ] || echo 'the device is closed'
		[ ! -e $marker ] || echo "$marker is there")"
}

hbctl create first --ttl 1h --buckets 7 --policy updating --max-entries 1000 --when-full evict --wipe \
	--mode 0640
hbctl -b first put forever 1 --ttl never --flags 7
printf '\000\001\t\n' | hbctl -b first put -e 'bin\t\n\x00' -
seq 500 | sed 's/$/\tvalue/' | hbctl -b first load 2>"$temporary/err" || cat "$temporary/err"
chmod 666 /dev/hashbelt
chgrp nogroup /dev/hashbelt
nobody create theirs --ttl 2h --mode 0600
nobody -b theirs put secret 1
hbctl create still --ttl 1d
hbctl -b still put a 1 --ttl 10h
hbctl halt still
hbctl create empty --pinned --group nogroup
hbctl create ' begins with a blank'
hbctl set default --ttl 7m
hbctl put in-default 1
echo 123456789 >$parameters/max_bytes
hbctl -b first get forever >/dev/null
shown >"$temporary/before"
still_left >"$temporary/left"
belts=$(hbctl belts --noheadings -o name | wc -l)

like 'reload-module FILE prints how long hashbelt was away' 0 \
	"the new module is loaded, with $belts belts and 505 entries; hashbelt was away for *s" '' \
	reload "$module"
unchanged 'belts, settings, owners, states and entries are the same'
is 'a halted belt has the time left that it had' 0 "$(cat "$temporary/left")" '' still_left
is 'parameters of the module are the same' 0 123456789 '' cat $parameters/max_bytes
like 'the counters begin anew: the module is another one' 0 '*"hits":0,*' '' hbctl stat first --json
is 'the device has the mode and the group that it had' 0 '666 65534' '' stat -c '%a %g' /dev/hashbelt
value 'the owner of a belt may use it' 1 nobody -b theirs get secret
is 'no file is left behind' 0 '' '' ls -A "$state"
opened 'the device is open again'
like 'reload-module without a file runs modprobe' 0 \
	"the new module is loaded, with $belts belts and 505 entries; *" '' reload
unchanged 'belts and entries are the same after that'
like 'reload-module whose caller ignores SIGCHLD waits for modprobe' 0 \
	"the new module is loaded, with $belts belts and 505 entries; *" '' \
	sh -c 'trap "" CHLD; exec hbctl reload-module --directory "$0"' "$state"
like 'reload-module --json prints an object' 0 \
	"{\"belts\":$belts,\"entries\":505,\"away_ms\":[0-9]*}" '' reload --json "$module"

# In use
sleep 1000 3</dev/hashbelt &
user=$!
at_last sh -c '[ "$(cat /sys/module/hashbelt/refcnt)" = 1 ]'
is 'reload-module refuses while a process has the device open, and names it' 1 '' \
	"the module is in use, and stays: end process $user (sleep) first" reload "$module"
kill $user
end $user
hbctl create windowed --window 64k
./client_test windowed >"$temporary/mapped" &
user=$!
at_last grep -q mapped "$temporary/mapped"
is 'reload-module names a process that has a window mapped, and no descriptor any more' 1 '' \
	"the module is in use, and stays: end process $user (client_test) first" reload "$module"
opened 'after a refusal the device is open'
kill $user
end $user
hbctl destroy windowed
insmod hashbelt_user.ko
at_last sh -c '[ "$(cat /sys/module/hashbelt/refcnt)" -ge 1 ]'
is 'reload-module refuses while a module uses it, and names it' 1 '' \
	'the module is in use, and stays: end module hashbelt_user first' reload "$module"
rmmod hashbelt_user
hbctl -b empty lock held >/dev/null
is 'reload-module refuses to lose a lock' 1 '' "belt 'empty' has 1 locks, *" reload "$module"
unchanged 'after refusals belts and entries are the same'
opened 'after refusals the device is open'
is 'after refusals no file is left behind' 0 '' '' ls -A "$state"
like 'reload-module --force unlocks it' 0 'the new module is loaded, *' '' reload --force "$module"
is 'the lock is gone' 0 '' '' hbctl -b empty locks
hbctl create events --on-expire notify
hbctl -b events put a 1
hbctl -b events expire a
is 'reload-module refuses to lose an event' 1 '' "belt 'events' has 1 events *" reload "$module"
hbctl destroy events
is 'user nobody: reload-module exits with 3' 3 '' 'reload-module is for root' nobody reload-module

# Modules that do not load
printf 'no module' >"$temporary/text"
is 'a file that is no module is refused' 4 '' "$temporary/text: it is no module hashbelt; *" \
	reload "$temporary/text"
is 'the module of something else is refused' 4 '' '*user.ko: it is no module hashbelt; *' \
	reload hashbelt_user.ko
release=$(uname -r)
at=$(strings -t d -n 12 "$module" | sed -n 's/^ *\([0-9]*\) vermagic=.*/\1/p')
cp "$module" "$temporary/other.ko"
printf X | dd of="$temporary/other.ko" bs=1 seek=$((at + 9 + ${#release} - 1)) conv=notrunc 2>/dev/null
is 'a module for another kernel is refused' 4 '' '*other.ko: it is built for another kernel *' \
	reload "$temporary/other.ko"
is 'a missing file is refused' 4 '' 'cannot open /nonexistent.ko: *' reload /nonexistent.ko
broken "$temporary/broken.ko"
run reload "$temporary/broken.ko"
result 'if the new module does not load, the old one is loaded again, and the error says so' \
	"$(check_status 4
	grep -q "^hbctl: cannot load $temporary/broken.ko: Exec format error: " "$temporary/err" ||
		cat "$temporary/err"
	grep -q "^the old module is loaded again, with $belts belts and 505 entries; " \
		"$temporary/out" || cat "$temporary/out")"
unchanged 'belts and entries are the same after that'
opened 'the device of the old module is open'
printf '#!/bin/sh\nexit 1\n' >"$temporary/bin/modprobe"
run reload --fallback "$module" "$temporary/broken.ko"
result 'with --fallback that module is loaded in the place of the old one' "$(check_status 4
	grep -q "^the old module is loaded again, with $belts belts and 505 entries; " \
		"$temporary/out" || cat "$temporary/out" "$temporary/err")"
run reload
result 'if no module loads, the error says where the belts are' "$(check_status 4
	[ ! -e /sys/module/hashbelt ] || echo 'a module is loaded'
	grep -q "no module is loaded: the belts are in $state/reload: " "$temporary/err" ||
		cat "$temporary/err")"
is 'the files of the belts are there, for root alone' 0 "700 $((belts))" '' \
	sh -c "echo \$(stat -c %a '$state/reload') \$(ls '$state/reload'/*.belt | wc -l)"
like 'reload-module --resume loads a module, and the belts' 0 \
	"the new module is loaded, with $belts belts and 505 entries; *" '' reload --resume "$module"
unchanged 'belts and entries are the same after --resume'
opened 'after --resume the device is open'
is '--resume without anything to resume fails' 4 '' \
	"$state/reload is missing: no reload was left unfinished" reload --resume
mkdir -m 700 "$state/reload"
is 'while files of a reload are left, there is no other' 1 '' \
	"$state/reload has the belts of a reload that did not end: *" reload "$module"
is '--resume of a device that programs use refuses, as what they removed would come back' 1 '' \
	"the device was opened since: --force loads the belts of $state/reload *" reload --resume
rmdir "$state/reload"

# A reload that is killed
# killed NAME SCRIPT - it is killed in the modprobe that runs SCRIPT; then --resume goes on
killed() {
	printf '#!/bin/sh\n%s\nkill -KILL $PPID\n' "$2" >"$temporary/bin/modprobe"
	run reload
	result "a reload killed $1: the device stays closed, or away" "$(check_status 137
		[ "$(stat -c %a $marker)" = 600 ] || echo "$marker is missing, or others can lock it"
		! (: </dev/hashbelt) 2>/dev/null || echo 'the device is open')"
	is "a reload killed $1: --resume says where the belts are, if that is another directory" 1 '' \
		"the belts are in $state/reload: name the directory above it by --directory" \
		hbctl reload-module --resume --directory "$temporary"
	like "a reload killed $1: --resume goes on" 0 \
		"the new module is loaded, with $belts belts and 505 entries; *" '' \
		reload --resume "$module"
	unchanged "a reload killed $1: belts and entries are the same after --resume"
	opened "a reload killed $1: the device is open after --resume"
}
killed 'without a module' ''
killed 'after the new module was loaded' "shift; insmod $module \"\$@\""
printf '#!/bin/sh\nkill -KILL $PPID\n' >"$temporary/bin/modprobe"
run reload
insmod "$module"
hbctl create first --ttl 1h
hbctl -b first put forever newer
is 'after a module was loaded by hand, --resume does not load what may have been removed since' 1 '' \
	"the device was opened since: --force loads the belts of $state/reload *" reload --resume
like '--resume --force loads it' 0 'the new module is loaded, *' '' reload --resume --force
value 'an entry that was put since stays' newer hbctl -b first get forever
value 'the others are loaded' value hbctl -b first get 7
hbctl -b first put forever 1 --ttl never --flags 7
unchanged 'after that belts and entries are the same again'
echo 1 >$parameters/closed
: >$marker
mkdir -m 700 "$state/reload.new"
is 'a reload killed while it saved belts: --resume opens the device' 0 \
	'the device is open again, with all belts' '' reload --resume
unchanged 'a reload killed while it saved belts: they are the same'
opened 'a reload killed while it saved belts: the device is open after --resume'
cat >"$temporary/bin/modprobe" <<.
#!/bin/sh
shift
exec insmod $module "\$@"
.

# A device that is closed
echo 1 >$parameters/closed
run hbctl doctor
result 'doctor names a device that was left closed, and what opens it' "$(check_status 3
	grep -q "^wrong .*/dev/hashbelt is closed while .*let root run 'hbctl reload-module --resume'" \
		"$temporary/out" || cat "$temporary/out")"
hbctl put waited 1 2>"$temporary/waits" &
waiting=$!
at_last grep -q "^hbctl: /dev/hashbelt is closed by 'hbctl reload-module': waiting up to 50 s more" \
	"$temporary/waits"
echo 0 >$parameters/closed
end $waiting
is 'hbctl waits for a device that is closed, and says so' 0 0 '' echo $status
value 'hbctl goes on when the device is opened' 1 hbctl get waited
hbctl rm waited
echo 1 >$parameters/closed
hbctl get waited 2>"$temporary/waits" &
waiting=$!
at_last grep -q '^State:.*sleeping' /proc/$waiting/status
kill -TERM $waiting
end $waiting
is 'a signal ends hbctl while it waits' 0 143 '' echo $status
echo 0 >$parameters/closed

# Programs that go on beside reloads
chmod 666 /dev/hashbelt
cd "$temporary" || exit
: >go
: >errors
hbctl create busy --ttl 1d --mode 0666
seq 3000 | sed 's/.*/k&\tvalue/' | hbctl -b busy load 2>err || cat err
# wrong COMMAND... - the command has neither succeeded nor said no
wrong() {
	echo "status $status: $*: $(cat "err.$me")" >>errors
}
# busily NAME COMMAND - run the shell's commands again and again, as a task of its own, until there is no
# file go
busily() {
	(
		me=$1
		number=0
		done=0
		while [ -e go ]; do
			number=$((number + 1))
			eval "$2"
		done
		echo $done >"done.$me"
	) &
	tasks="$tasks $!"
}
# try RESULT COMMAND... - the status of hbctl is RESULT, or it is an error; true if it is 0
try() {
	wanted=$1
	shift
	status=0
	"$@" >/dev/null 2>"err.$me" || status=$?
	case $wanted in *$status*) ;; *) wrong "$@" ;; esac
	[ "$status" = 0 ]
}
tasks=
busily root 'try 0 hbctl -b busy incr count && done=$((done + 1))'
busily user 'try 0 nobody -b busy incr count && done=$((done + 1))'
busily get 'try 0 hbctl -b busy get k$((number % 3000 + 1))'
busily absent 'try 1 hbctl -b busy put k$((number % 3000 + 1)) other --if-absent && done=$((done + 1))'
busily claim 'try 01 hbctl -b busy put claim$number 1 --if-absent && done=$((done + 1))'
busily rival 'try 01 hbctl -b busy put claim$number 2 --if-absent && done=$((done + 1))'
busily token 'try 0 hbctl -b busy put token$number 1; try 0 hbctl -b busy rm token$number'
for turn in 1 2 3 4 5; do
	like "reload $turn of five ends while programs use the belts" 0 'the new module is loaded, *' '' \
		reload "$module"
done
rm go
for task in $tasks; do
	end "$task"
done
is 'beside five reloads no program gets an error, and no get misses' 0 '' '' cat errors
value 'beside five reloads no addition is lost' "$(($(cat done.root) + $(cat done.user)))" \
	hbctl -b busy get count
is 'beside five reloads no put --if-absent of a key that is there succeeds' 0 0 '' cat done.absent
is 'beside five reloads each key is claimed once' 0 "$(hbctl -b busy keys | grep -c '^claim')" '' \
	echo $(($(cat done.claim) + $(cat done.rival)))
is 'beside five reloads no token comes back that was removed' 0 0 '' \
	sh -c 'hbctl -b busy keys | grep -c "^token" || :'
cd "$here" || exit
hbctl destroy busy
opened 'after five reloads the device is open'

# signalled WHO [COMMAND...] - a signal to a reload that the command starts, or to its child, while it waits for
# a program that has the device open
signalled() {
	who=$1
	shift
	sleep 1000 3</dev/hashbelt &
	user=$!
	"$@" hbctl reload-module --directory "$state" "$module" >"$temporary/reloaded" 2>&1 &
	reloading=$!
	at_last grep -q 1 $parameters/closed
	child=$(cat "/proc/$reloading/task/$reloading/children")
	kill -TERM "${child:-$reloading}"
	end $reloading
	result "a signal ends a reload$who that waits" "$(check_status 143
		[ ! -s "$temporary/reloaded" ] || cat "$temporary/reloaded")"
	opened "after a signal to a reload$who that waits the device is open"
	kill $user
	end $user
}
signalled ''
signalled ' as the init process' unshare -p -f

# A signal that comes while belts are saved, or a moment later
hbctl create large --ttl 1d
seq 20000 | sed 's/$/\tvalue/' | hbctl -b large load 2>"$temporary/err" || cat "$temporary/err"
hbctl reload-module --directory "$state" "$module" >"$temporary/reloaded" 2>&1 &
reloading=$!
at_last grep -q 1 $parameters/closed
kill -TERM $reloading
end $reloading
result 'a signal ends a reload, or it comes to its end' "$(case $status in 0 | 143) ;; *) echo "$status"; esac)"
opened 'after a signal the device is open'
is 'after a signal all entries are there' 0 20000 '' hbctl size large
hbctl destroy large
unchanged 'after a signal the other belts are the same'

# A disk that is full
mkdir "$temporary/full"
mount -t tmpfs -o size=16k,mode=700 none "$temporary/full" || exit 1
is 'if the disk has no room for the belts, nothing is done' 4 '' \
	"cannot write $temporary/full/reload.new/*: No space left on device: *" \
	hbctl reload-module --directory "$temporary/full" "$module"
is 'nothing is left on that disk' 0 '' '' ls -A "$temporary/full"
umount "$temporary/full"
unchanged 'belts and entries are the same after all'
chmod 600 /dev/hashbelt
finish
