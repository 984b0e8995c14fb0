#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# engines.t - belts in containers of podman, of docker, and of podman without root. Runs on a Debian
# with systemd, in a guest of machine.sh.
# shellcheck disable=SC2317 # functions that "is" calls
set -u

# shellcheck source=tests/confined/engine.sh
. /payload/tests/confined/engine.sh

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
	check_rules
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

use podman podman "$member"
check_root containers-default-0.50.1
use docker docker "$member"
check_root docker-default
run_shown '### podman and docker' 'sh -c'
use "podman without root" podman keep-groups alice
check_rootless
run_shown '### podman without root' 'su -l alice -c'
end_engines
