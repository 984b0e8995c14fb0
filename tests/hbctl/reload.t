#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# reload.t - hbctl reload-module. Runs in the directory of hashbelt.ko. A program modprobe of the test's
# own loads that.
# shellcheck disable=SC2016,SC2317 # scripts of sh; functions that tap.sh calls
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

state=$temporary/state
module=$PWD/hashbelt.ko
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
like 'reload-module without a file runs modprobe' 0 \
	"the new module is loaded, with $belts belts and 505 entries; *" '' reload
unchanged 'belts and entries are the same after that'
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
insmod hashbelt_user.ko
at_last sh -c '[ "$(cat /sys/module/hashbelt/refcnt)" -ge 1 ]'
is 'reload-module refuses while a module uses it, and names it' 1 '' \
	'the module is in use, and stays: end module hashbelt_user first' reload "$module"
rmmod hashbelt_user
hbctl -b empty lock held >/dev/null
is 'reload-module refuses to lose a lock' 1 '' "belt 'empty' has 1 locks, *" reload "$module"
unchanged 'after refusals belts and entries are the same'
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
mkdir -m 700 "$state/reload"
is 'while files of a reload are left, there is no other' 1 '' \
	"$state/reload has the belts of a reload that did not end: *" reload "$module"
rmdir "$state/reload"

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
