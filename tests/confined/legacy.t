#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# legacy.t - belts in containers of podman and docker on a machine with cgroups of version 1. Runs on a
# Debian with systemd, in a guest of machine.sh.
# shellcheck disable=SC2317 # functions that "is" calls
set -u

# shellcheck source=tests/confined/engine.sh
. /payload/tests/confined/engine.sh

# check_legacy - check an engine that root runs.
check_legacy() {
	check_without
	check_rules
	check_limits
	check_killed
}

is "the machine has cgroups of version 1" 0 tmpfs '' stat -f -c %T /sys/fs/cgroup
use podman podman "$member"
check_legacy
use docker docker "$member"
check_legacy
use "podman without root" podman keep-groups alice
check_without
is "$which: with keep-groups, it puts into a belt of the group" 0 '' '' \
	with_group cache hbctl -b team put key rootless
check_killed
end_engines
