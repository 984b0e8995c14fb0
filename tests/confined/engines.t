#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# engines.t - belts in containers of podman, of docker, and of podman without root. Runs on a Debian
# with systemd, in a guest of machine.sh.
#
# The image has busybox and hbctl. It is made of a directory, because the guest has no network. The
# user alice is a member of the group hashbelt.
# shellcheck disable=SC2317 # functions that "is" calls
set -u

# shellcheck source=tests/confined/shown.sh
. /payload/tests/confined/shown.sh

image=$temporary/image
member=$(getent group hashbelt | cut -d : -f 3)
minor=$(cut -d : -f 2 /sys/class/misc/hashbelt/dev)
nothing='there is no device /dev/hashbelt*'
closed='no right to open /dev/hashbelt*'
# Puts two megabytes, and prints how much of the kernel's memory the container is charged with.
# shellcheck disable=SC2016 # the shell of the container expands it
charge='for i in $(seq 20); do head -c 100000 /dev/zero | hbctl -b team put key$i || exit; done
	sed -n "s/^kernel //p" /sys/fs/cgroup/memory.stat'
# Puts 40 megabytes.
# shellcheck disable=SC2016
overfill='hbctl create own --ttl 1h &&
	for i in $(seq 40); do head -c 1000000 /dev/zero | hbctl -b own put key$i || exit; done'

# use ENGINE GROUP - let containers be started by podman, docker or alice (podman without root). GROUP is
# the option that gives a container the group hashbelt.
use() {
	engine=$1 group=$2
	case $engine in
	alice) which="podman without root" ;;
	*) which=$engine ;;
	esac
}

# run_engine ARGUMENT... - run the engine. su passes its words to a shell.
run_engine() {
	if [ "$engine" != alice ]; then
		"$engine" "$@"
		return
	fi
	quoted=''
	for argument; do
		quoted="$quoted '$(echo "$argument" | sed "s/'/'\\\\''/g")'"
	done
	su -l alice -c "podman $quoted"
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

# is_locked - whether the belt "team" has the lock "job".
is_locked() {
	hbctl -b team locks --json | grep -q '"key":"job"'
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
	run with_group --memory 64m cache sh -c "$charge"
	check_status 0
	check_error ''
	[ "$(cat "$temporary/out")" -ge 2000000 ] || cat "$temporary/out"
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
		hbctl -b team lock job -- sleep 1000 >"$temporary/started" 2>&1
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

# check_user - a user of a container whose root is root of the machine.
check_user() {
	is "$which: a user of the container may not open the device" 3 '' "$closed" \
		with_device --user 1000:1000 cache hbctl -b team get key
	is "$which: with the number of the group, it puts into a belt of the group" 0 '' '' \
		with_group --user 1000:1000 cache hbctl -b team put key group
	like "$which: a member of the group outside gets that" 0 group '' \
		su alice -c 'hbctl -b team get key'
	is "$which: this user makes a belt" 0 '' '' \
		with_group --user 1000:1000 cache hbctl create alices
	is "$which: it belongs to the user of that number outside" 0 1000:1000 '' owner alices
	hbctl destroy alices
}

# check_root PROFILE - check an engine that root runs. PROFILE is that of AppArmor.
check_root() {
	check_without
	is "$which: its default profiles of AppArmor and seccomp confine a container" 0 "$1 2" '' confinement
	is "$which: the device rule of the cgroup refuses a node that the container makes" 3 '' "$closed" \
		in_container --cap-add MKNOD cache \
		sh -c "mknod /dev/hashbelt c 10 $minor && exec hbctl -b open get key"
	like "$which: a container with the device reads a belt of mode 0666" 0 outside '' \
		with_device cache hbctl -b open get key
	is "$which: root of a container has no right to root's belts" 3 '' "$(no_right roots)" \
		with_device cache hbctl -b roots get key
	like "$which: it has with --privileged" 0 secret '' \
		in_container --privileged cache hbctl -b roots get key
	is "$which: root of a container makes a belt" 0 '' '' with_device cache hbctl create inside --ttl 1h
	is "$which: the belt belongs to uid 0" 0 0:0 '' owner inside
	is "$which: another container puts into it" 0 '' '' with_device cache hbctl -b inside put key shared
	like "$which: root of the machine gets that" 0 shared '' hbctl -b inside get key
	is "$which: --belt-owner root refuses this belt" 3 '' '*' \
		hbctl -b inside --belt-owner root get key
	hbctl destroy inside
	check_user
	like "$which: a container with the device for reading gets" 0 outside '' \
		read_only cache hbctl -b open get key
	is "$which: it cannot put" 3 '' "no right to write belt 'open'*" \
		read_only cache hbctl -b open put key inside
	is "$which: its open of the device for writing fails with EPERM" 1 \
		"sh: can't create /dev/hashbelt: Operation not permitted" '' \
		read_only cache sh -c '(: >>/dev/hashbelt) 2>&1'
	check_limits
	check_killed
}

# check_mapped - users of a user namespace, and the belts that they make.
check_mapped() {
	is "$which: root of the container makes a belt" 0 '' '' with_group cache hbctl create inside --ttl 1h
	is "$which: outside, the belt belongs to the user that runs podman" 0 1000:1000 '' owner inside
	like "$which: inside, it belongs to uid 0" 0 '*"uid":0,"gid":0,*' '' \
		with_group cache hbctl info --json inside
	like "$which: with --userns keep-id, it belongs to that user inside as well" 0 \
		'*"uid":1000,"gid":1000,*' '' with_group --userns keep-id cache hbctl info --json inside
	is "$which: another user of the container has no right to it" 3 '' "$(no_right inside)" \
		with_group --user 1:1 cache hbctl -b inside get key
	is "$which: this user makes a belt" 0 '' '' with_group --user 1:1 cache hbctl create ones
	first=$(sed -n 's/^alice:\([0-9]*\):.*/\1/p' /etc/subuid)
	is "$which: outside, that belongs to a user of /etc/subuid" 0 "$first:$first" '' owner ones
	hbctl destroy ones
	hbctl destroy inside
}

# check_rootless - check podman that alice runs.
check_rootless() {
	check_without
	is "$which: seccomp confines a container, and AppArmor does not" 0 'unconfined 2' '' confinement
	is "$which: with the device alone, the container may not open it" 3 '' "$closed" \
		with_device cache hbctl -b open get key
	is "$which: nor with the number of the group" 3 '' "$closed" \
		with_device --group-add "$member" cache hbctl -b open get key
	is "$which: with keep-groups, it puts into a belt of the group" 0 '' '' \
		with_group cache hbctl -b team put key rootless
	like "$which: another container gets that" 0 rootless '' with_group cache hbctl -b team get key
	like "$which: the machine gets that" 0 rootless '' hbctl -b team get key
	is "$which: root of the container has no right to root's belts" 3 '' "$(no_right roots)" \
		with_group cache hbctl -b roots get key
	is "$which: nor has it with --privileged" 3 '' "$(no_right roots)" \
		in_container --privileged --group-add keep-groups cache hbctl -b roots get key
	check_mapped
	is "$which: a container with the device for reading can put all the same" 0 '' '' \
		read_only cache hbctl -b team put key inside
	check_limits
	check_killed
}

mkdir -p "$image/bin"
chmod 755 "$temporary" "$image"
sh /payload/copy.sh "$image" /usr/bin/hbctl /usr/bin/busybox
for program in head mknod sed seq sh sleep; do
	ln -s /usr/bin/busybox "$image/bin/$program"
done
loginctl enable-linger alice
hbctl create open --ttl 1h --mode 0666
hbctl -b open put key outside
hbctl create roots --ttl 1h
hbctl -b roots put key secret
hbctl create team --ttl 1h --group hashbelt --mode 0660 --pinned --when-full reject

use podman "$member"
check_root containers-default-0.50.1
use docker "$member"
check_root docker-default
run_shown '### podman and docker' 'sh -c'
use alice keep-groups
check_rootless
run_shown '### podman without root' 'su -l alice -c'
plan $count
finish
