# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# engine.sh - sourced by tests that start containers of podman or docker on a Debian with systemd, in a
# guest of machine.sh: functions for containers and for what holds in them, an image and belts.
#
# The image has busybox and hbctl. It is made of a directory, because the guest has no network. The
# user alice is a member of the group hashbelt.
# shellcheck disable=SC2034,SC2317 # variables of the tests, functions that "is" calls

# shellcheck source=tests/confined/shown.sh
. /payload/tests/confined/shown.sh

image=$temporary/image
member=$(getent group hashbelt | cut -d : -f 3)
minor=$(cut -d : -f 2 /sys/class/misc/hashbelt/dev)
nothing='there is no device /dev/hashbelt*'
closed='no right to open /dev/hashbelt: join its group *'
ruled='no right to open /dev/hashbelt: the device rule of a cgroup refuses it: start the container with *'
# Puts two megabytes, and prints how much of the kernel's memory the container is charged with.
# shellcheck disable=SC2016 # the shell of the container expands it
charge='for i in $(seq 20); do head -c 100000 /dev/zero | hbctl -b $0 put key$i || exit; done
	sed -n "s/^kernel //p" /sys/fs/cgroup/memory.stat 2>/dev/null ||
		cat /sys/fs/cgroup/memory/memory.kmem.usage_in_bytes'
# Puts 40 megabytes.
# shellcheck disable=SC2016
overfill='hbctl create own --ttl 1h &&
	for i in $(seq 40); do head -c 1000000 /dev/zero | hbctl -b own put key$i || exit; done'

# use NAME ENGINE GROUP [USER] - let containers be started by that command, run by that user, or root. GROUP
# is the option that gives a container the group hashbelt.
use() {
	which=$1 engine=$2 group=$3 user=${4-}
}

# run_engine ARGUMENT... - run the engine. su passes its words to a shell.
run_engine() {
	if [ -z "$user" ]; then
		"$engine" "$@"
		return
	fi
	quoted=''
	for argument; do
		quoted="$quoted '$(echo "$argument" | sed "s/'/'\\\\''/g")'"
	done
	su -l "$user" -c "$engine $quoted"
}

# in_container [OPTION]... cache COMMAND... - run a command in a new container.
in_container() {
	run_engine run --rm --network none "$@"
}

# with_device [OPTION]... cache COMMAND... - run a command in a container that has the device.
with_device() {
	in_container --device /dev/hashbelt "$@"
}

# with_group [OPTION]... cache COMMAND... - run a command in a container that has device and group.
with_group() {
	with_device --group-add "$group" "$@"
}

# read_only [OPTION]... cache COMMAND... - the same, with the device for reading.
read_only() {
	in_container --device /dev/hashbelt:/dev/hashbelt:r --group-add "$group" "$@"
}

# import - make the image, and print what is wrong.
import() {
	tar -C "$image" -c . | run_engine import - cache >"$temporary/imported" 2>&1 ||
		cat "$temporary/imported"
}

# no_right BELT - print the pattern of the error without a right to a belt.
no_right() {
	echo "there is no belt '$1', or you have no right to it*"
}

# owner BELT - print uid and gid of a belt's owner.
owner() {
	hbctl info --json "$1" | sed 's/.*"uid":\([0-9]*\),"gid":\([0-9]*\).*/\1:\2/'
}

# is_locked - whether the belt has the lock "job".
is_locked() {
	hbctl -b "$belt" locks --json | grep -q '"key":"job"'
}

is_free() {
	! is_locked
}

# confinement - print the AppArmor profile and the mode of seccomp (2: filtered) in a container.
confinement() {
	# shellcheck disable=SC2016 # the shell of the container expands it
	in_container cache sh -c 'read -r profile _ </proc/self/attr/current
		echo "$profile" "$(sed -n "s/^Seccomp:[^0-9]*//p" /proc/self/status)"'
}

# charged - print what is wrong with the charge of a container that puts two megabytes.
charged() {
	run with_group --memory 64m cache sh -c "$charge" "$belt"
	check_status 0
	check_error ''
	[ "$(cat "$temporary/out")" -ge 2000000 ] || cat "$temporary/out"
}

# check_read_only - a container with the device for reading.
check_read_only() {
	like "$which: a container with the device for reading gets" 0 outside '' \
		read_only cache hbctl -b open get key
	is "$which: it cannot put, and the error names the device rule" 3 '' \
		"no right to write belt 'open': the device is open for reading only: the device rule of a cgroup *" \
		read_only cache hbctl -b open put key inside
}

# check_rules - the rule of the cgroup for the device.
check_rules() {
	is "$which: the device rule of the cgroup refuses a node that the container makes" 3 '' "$ruled" \
		in_container --cap-add MKNOD cache \
		sh -c "mknod /dev/hashbelt c 10 $minor && exec hbctl -b open get key"
	check_read_only
	is "$which: an open of that device for writing fails with EPERM" 1 \
		"sh: can't create /dev/hashbelt: Operation not permitted" '' \
		read_only cache sh -c '(: >>/dev/hashbelt) 2>&1'
}

# check_limits - the memory limit of a container counts entries.
check_limits() {
	result "$which: 2,000,000 bytes of values are charged to the memory limit of the container" \
		"$(charged)"
	is "$which: a container with a limit of 24 MiB puts 40 MB into its own belt" 0 '' '' \
		with_group --memory 24m cache sh -c "$overfill"
	entries=$(hbctl -b own size)
	result "$which: its belt has given up entries to the limit" \
		"$([ "$entries" -gt 0 ] && [ "$entries" -lt 26 ] || echo "$entries entries")"
	hbctl destroy own
}

# check_killed - the lock of a container that is killed is free.
check_killed() {
	run_engine run -d --name holder --network none --device /dev/hashbelt --group-add "$group" cache \
		hbctl -b "$belt" lock job -- sleep 1000 >"$temporary/started" 2>&1
	result "$which: a container takes a lock" "$(at_last is_locked || cat "$temporary/started")"
	run_engine kill holder >"$temporary/killed" 2>&1
	result "$which: the lock is free when the container has been killed" \
		"$(at_last is_free || cat "$temporary/killed")"
	run_engine rm -f holder >"$temporary/removed" 2>&1
}

# check_without - what holds for a container without the device.
check_without() {
	result "$which: an image is made of a directory" "$(import)"
	is "$which: a container without the device can make no call" 3 '' "$nothing" \
		in_container cache hbctl -b open get key
}

mkdir -p "$image/bin"
chmod 755 "$temporary" "$image"
sh /payload/copy.sh "$image" /usr/bin/hbctl /usr/bin/busybox
for program in cat head mknod sed seq sh sleep; do
	ln -s /usr/bin/busybox "$image/bin/$program"
done
loginctl enable-linger alice
hbctl create open --ttl 1h --mode 0666
hbctl -b open put key outside
hbctl create roots --ttl 1h
hbctl -b roots put key secret
# The belt of which the limits and the locks of a container are tried.
belt=team
hbctl create team --ttl 1h --group hashbelt --mode 0660 --pinned --when-full reject

# end_engines - load the module again, without the belts: another test may follow.
end_engines() {
	is "no container has left the device open: the module can be removed" 0 '' '' rmmod hashbelt
	modprobe hashbelt
	udevadm settle
	is "the device that the module makes again has no access list" 0 'user::rw-
group::rw-
other::---' '' sh -c 'getfacl -pc /dev/hashbelt | sed "/^$/d"'
	finish
}
