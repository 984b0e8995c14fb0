#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# mapped.t - belts in containers of docker whose root is another user outside: with userns-remap, and of a
# docker that runs without root. Runs on a Debian with systemd, in a guest of machine.sh.
# shellcheck disable=SC2317 # functions that "is" calls
set -u

# shellcheck source=tests/confined/engine.sh
. /payload/tests/confined/engine.sh

# remap - let docker run containers in a user namespace.
remap() {
	echo '{ "userns-remap": "default" }' >/etc/docker/daemon.json
	systemctl restart docker 2>&1
}

# start_rootless - let the systemd of alice start a docker, as dockerd-rootless-setuptool.sh would: that one
# expects docker beside itself, and Debian has it elsewhere. It needs no rules for the network here.
start_rootless() {
	su -l alice -c "XDG_RUNTIME_DIR=/run/user/$(id -u alice) systemd-run --user --unit docker \
		-p Type=notify -p NotifyAccess=all -p Delegate=yes -E PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		/usr/share/docker.io/contrib/dockerd-rootless.sh --iptables=false" >"$temporary/started" 2>&1 || {
		cat "$temporary/started"
		journalctl --no-pager -n 40 "_UID=$(id -u alice)"
	}
}

# check_outside UID - containers whose root is that user outside, which gets the device by its access list.
check_outside() {
	uid=$1
	check_without
	is "$which: with the device alone, the container may not open it" 3 '' "$closed" \
		with_device cache hbctl -b open get key
	is "$which: nor with the number of the group" 3 '' "$closed" \
		with_group cache hbctl -b open get key
	is "$which: an access list gives the device to the user that is root of the container" 0 '' '' \
		setfacl -m "u:$uid:rw" /dev/hashbelt
	like "$which: the container reads a belt of mode 0666" 0 outside '' \
		with_device cache hbctl -b open get key
	is "$which: it puts into it" 0 '' '' with_device cache hbctl -b open put key outside
	is "$which: root of the container has no right to root's belts" 3 '' "$(no_right roots)" \
		with_device cache hbctl -b roots get key
	is "$which: root of the container makes a belt" 0 '' '' with_device cache hbctl create inside --ttl 1h
	is "$which: outside, the belt belongs to the user that is root of the container" 0 "$uid:$uid" '' \
		owner inside
	like "$which: inside, it belongs to uid 0" 0 '*"uid":0,"gid":0,*' '' \
		with_device cache hbctl info --json inside
	hbctl destroy inside
	check_limits
	check_killed
}

belt=all
hbctl create all --ttl 1h --mode 0666 --pinned --when-full reject
result "docker starts with userns-remap" "$(remap)"
use "docker with userns-remap" docker "$member"
check_outside "$(sed -n 's/^dockremap:\([0-9]*\):.*/\1/p' /etc/subuid)"
is "$which: the default profiles of AppArmor and seccomp confine a container" 0 'docker-default 2' '' \
	confinement
check_read_only
is "$which: with --userns host and the number of the group, it puts into a belt of the group" 0 '' '' \
	with_group --userns host cache hbctl -b team put key host
use "docker without root" "DOCKER_HOST=unix:///run/user/$(id -u alice)/docker.sock docker" "$member" alice
result "docker starts without root" "$(start_rootless)"
check_outside "$(id -u alice)"
is "$which: seccomp confines a container, and AppArmor does not" 0 'unconfined 2' '' confinement
is "$which: a container with the device for reading can put all the same" 0 '' '' \
	read_only cache hbctl -b open put key inside
end_engines
