# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# guest.sh - sourced by the scripts that run in the guests of machine.sh, once after each boot. A unit
# of systemd starts them. They print "guest: STATUS<tab>NAME" for each check, and before it what the
# check has printed, behind "guest: |". The file "boots" counts the boots.

cd "$(dirname "$0")" || exit 1
boots=$(($(cat boots 2>/dev/null || echo 0) + 1))
echo $boots >boots
when="boot $boots"

# check NAME COMMAND [SECONDS] - run a command for a shell, and print its status. True: it is 0.
check() {
	timeout "${3-280}" sh -c "$2" >printed 2>&1 </dev/null
	status=$?
	awk '{ print "guest: |" $0 }' printed
	printf 'guest: %s\t%s: %s\n' "$status" "$when" "$1"
	return "$status"
}

# check_machine - the boot has come to its end, and no unit has failed.
check_machine() {
	check "systemd has started all units" \
		'systemctl is-system-running --wait || { systemctl --failed; exit 1; }'
}

# check_device VERSION - the module has that version, and its device belongs to the group.
check_device() {
	check "the module of version $1 is loaded" "cat /sys/module/hashbelt/version | grep -x $1"
	check "the device belongs to the group hashbelt, with mode 0660" \
		'udevadm settle; stat -c "%U %G %a" /dev/hashbelt | tee /dev/stderr | grep -qx "root hashbelt 660"'
}

# end_boot COMMAND - print that this boot has come to its end, and reboot or power off.
end_boot() {
	printf 'guest: 0\tend of boot %s\n' $boots
	sync
	systemctl "$1"
}
