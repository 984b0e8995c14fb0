#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# module.t - loading, parameters and removal of the module.
#
# Prints TAP. It loads and removes modules of its guest, as the superuser, in a directory
# with hashbelt.ko, hashbelt_user.ko and device/parameter_test. A module that is loaded
# already is removed first; none is loaded afterwards.

# shellcheck disable=SC2086,SC2317 # numbers; functions that ok() calls
unset CDPATH
# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

parameters=/sys/module/hashbelt/parameters
# Repetitions, scaled by SCALE in percent; 5 at least.
turns=$((20 * ${SCALE:-100} / 100))
[ $turns -ge 5 ] || turns=5
# At smaller sizes one of several wrong values is tried: each takes as long as loading the module.
whole=''
[ "${SCALE:-100}" -lt 100 ] || whole=yes

# ok NAME COMMAND [ARGUMENT]... - the check passes if the command succeeds
ok() {
	promise=$1
	shift
	wrong_output=''
	"$@" >output 2>&1 || wrong_output="expected success of: $*; found: $(cat output)"
	result "$promise" "$wrong_output"
}

refused() {
	! "$@"
}

loaded() {
	[ -d /sys/module/hashbelt ]
}

absent() {
	! loaded && [ ! -e /dev/hashbelt ]
}

unload() {
	loaded || return 0
	rmmod hashbelt
}

# load [PARAMETER]... - load hashbelt only, and clear the kernel log before
load() {
	unload
	dmesg -c >/dev/null
	insmod ./hashbelt.ko "$@"
}

# named PARAMETER - whether the kernel log names it since the last load
named() {
	dmesg | grep "hashbelt.*$1"
}

parameter() {
	value=$(cat "$parameters/$1")
	[ "$value" = "$2" ] || {
		echo "$1 is $value, not $2"
		false
	}
}

# accepted PARAMETER VALUE TTL_MS BUCKETS MODE - the module takes it; the default belt has
# the settings behind it
accepted() {
	accepted=$1=$2
	ok "$accepted is accepted" load "$accepted"
	shift 2
	ok "the default belt is as $accepted says" ./device/parameter_test "$@"
}

# wrong PARAMETER VALUE... - the module loads with none of them. "wrong PARAMETER-": nor with the
# parameter alone
wrong() {
	wrong=$1
	shift
	case $wrong in
	*-)
		ok "${wrong%-} without a value is refused" refused load "${wrong%-}"
		ok "${wrong%-} without a value is named in the kernel log" named_and_absent "${wrong%-}"
		return
		;;
	esac
	for value; do
		ok "$wrong=$value is refused" refused load "$wrong=$value"
		ok "a refused $wrong=$value is named in the kernel log, and leaves no module" \
			named_and_absent "$wrong"
		[ "$whole" ] || break
	done
}

named_and_absent() {
	named "$1" && absent
}

# A quarter of MemTotal, within 2 percentage points: the kernel reserves some memory.
is_quarter() {
	limit=$(cat $parameters/max_bytes)
	total=$(awk '/^MemTotal:/ { print $2 * 1024 }' /proc/meminfo)
	percent=$((limit * 100 / total))
	echo "max_bytes is $limit of $total: $percent %"
	[ $percent -ge 23 ] && [ $percent -le 27 ]
}

# Loads and removes another module again and again; its belt calls it back all the time.
used_and_left() {
	turn=0
	while [ $turn -lt $turns ]; do
		insmod ./hashbelt_user.ko || return
		rmmod hashbelt_user || return
		turn=$((turn + 1))
	done
}

again_and_again() {
	turn=0
	while [ $turn -lt $turns ]; do
		load mode=0600 || return
		./device/parameter_test || return
		rmmod hashbelt || return
		absent || return
		turn=$((turn + 1))
	done
}

# again_and_again while a process reads used_bytes all the time. Only its first result is
# stored: a kill during a write would leave the file empty.
read_all_the_time() {
	rm -f used
	while :; do
		read -r used <$parameters/used_bytes && { [ -s used ] || echo "$used" >used; }
	done 2>/dev/null &
	reader=$!
	again_and_again
	again=$?
	kill $reader
	wait $reader
	[ $again = 0 ] && grep '^[0-9][0-9]*$' used
}

use() {
	insmod ./hashbelt_user.ko || {
		dmesg | grep hashbelt_user
		false
	}
}

leave() {
	rmmod hashbelt_user && ! dmesg | grep 'hashbelt_user.*not so'
}

cd "$(dirname "$0")/../.." || exit

ok "insmod loads the module" load
ok "a module loaded without parameters has the documented defaults" ./device/parameter_test
ok "/sys/module/hashbelt/version has the version" \
	grep -x "[0-9]*[.][0-9]*[.][0-9]*" /sys/module/hashbelt/version
ok "max_bytes is a quarter of the memory by default" is_quarter
exec 3<>/dev/hashbelt
ok "rmmod is refused while a descriptor is open" refused rmmod hashbelt
ok "the default belt works after rmmod was refused" ./device/parameter_test
exec 3>&-
ok "rmmod succeeds when the descriptor is closed" rmmod hashbelt
ok "the device is gone after rmmod" absent

accepted ttl_ms 1 1 3 0600
accepted ttl_ms 4398046511104 4398046511104 3 0600
accepted buckets 2 300000 2 0600
accepted buckets 65536 300000 65536 0600
accepted mode 0666 300000 3 0666
accepted mode 0440 300000 3 0440
accepted mode 400 300000 3 0400
accepted mode 600 300000 3 0600
ok "mode reads as 0600" parameter mode 0600
ok "max_bytes=512M is accepted" load max_bytes=512M
ok "max_bytes=512M reads as 536870912" parameter max_bytes 536870912
ok "user_max_pinned=100 is accepted" load user_max_pinned=100
ok "user_max_pinned=100 reads as 100" parameter user_max_pinned 100
ok "closed=1 is accepted" load closed=1
ok "nobody can open the device of a module that was loaded with closed=1" refused sh -c ': </dev/hashbelt'
ok "the module can be removed while its device is closed" unload
ok "the device of a module that is loaded anew is open" load
ok "the default belt works then" ./device/parameter_test

for parameter in ttl_ms buckets mode max_bytes user_max_bytes user_max_pinned max_belts \
	user_max_belts closed used_bytes; do
	# No parameter takes these; the last two are 2^64 + 8, and too long for any buffer.
	wrong $parameter -1 many 8x '"8 8"' 8.5 18446744073709551624 \
		9999999999999999999999999999999999999999 ''
	wrong $parameter-
done
wrong ttl_ms 0 4398046511105 8K
wrong buckets 0 1 65537 8K
wrong mode 0 0667 01600 rw 384 0x180 65536 200600
wrong max_bytes 0 64 16E 18014398509481985K 8E 8KK
wrong user_max_bytes 0 16E 18014398509481985K 8E 8KK
wrong user_max_pinned 101 4294967346 8K
wrong max_belts 0 4294967296 8K
wrong user_max_belts 4294967296 8K
wrong closed 2 4294967297 Y
wrong used_bytes 0 5 8K

ok "insmod without parameters works after refused parameters" load
ok "another module can use belts through the kernel interface" use
ok "rmmod is refused while another module uses hashbelt" refused rmmod hashbelt
ok "the default belt works while another module uses hashbelt" ./device/parameter_test
ok "the other module can be removed while its belt calls it back" leave
ok "another module is loaded and removed $turns times" used_and_left
ok "the module is loaded and removed $turns times with entries and belts" again_and_again
ok "the module is loaded and removed while used_bytes is read" read_all_the_time
unload
rm -f output
finish
