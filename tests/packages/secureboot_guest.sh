#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# secureboot_guest.sh VERSION PASSWORD - the part of secureboot.t that runs in the guest, once after each
# boot. VERSION is that of the packages. mokutil asks for a new PASSWORD, and MokManager asks for it again.
# shellcheck disable=SC2016 # the shells that check starts expand their commands
set -u

# shellcheck source=tests/packages/guest.sh
. "$(dirname "$0")/guest.sh"
version=$1 password=$2
traced=/sys/kernel/tracing/events/hashbelt/enable

# check_lockdown LEVEL - Secure Boot is on, and the kernel is locked down to that level.
check_lockdown() {
	check "Secure Boot is on" 'mokutil --sb-state | tee /dev/stderr | grep -qx "SecureBoot enabled"'
	check "the kernel is locked down to $1" "grep -F '[$1]' /sys/kernel/security/lockdown"
}

# check_refusal NAME COMMAND MESSAGE - the command cannot load the module, and the kernel logs the reason.
check_refusal() {
	check "the kernel refuses $1" \
		"dmesg -C; $2 2>error; status=\$?; cat error; [ \$status = 1 ] && grep 'Key was rejected by service' error"
	check "it logs why" "dmesg | tee /dev/stderr | grep -q '$3'"
}

# check_key_missing - the key of DKMS is not enrolled.
check_key_missing() {
	check "the units that need the module have failed, and no others" \
		'systemctl is-system-running --wait
		systemctl --failed --plain --no-legend | cut -d " " -f 1 | sort | tr "\n" " " | tee /dev/stderr |
			grep -qx "hashbelt.service systemd-modules-load.service "'
	check_lockdown integrity
	check "DKMS has signed the module" 'modinfo -F signer hashbelt | grep .'
	check_refusal "a module that DKMS has signed" 'modprobe hashbelt' .
	check "hbctl doctor says that the key is not enrolled, and what to do" \
		'hbctl doctor >found; [ $? = 3 ] && cat found && grep "^wrong   module   .*the key of DKMS is not enrolled: .mokutil --import /var/lib/dkms/mok.pub., reboot" found'
	check "a user other than root gets the same advice" \
		'runuser -u nobody -- hbctl doctor >found; cat found && grep "^wrong   module   .*the key of DKMS is not enrolled" found'
	check "MokManager will wait for a key" 'mokutil --timeout -1'
	check "the documented command succeeds, with a password" \
		"printf '$password\n$password\n' | sh -ex ./enrol"
}

# check_use NAME - a belt works.
check_use() {
	check "$1 works" \
		'hbctl put key value && [ "$(hbctl get key)" = value ] && hbctl rm key && [ "$(hbctl size)" = 0 ]'
}

# check_key_enrolled LEVEL - the key of DKMS is enrolled, and the kernel is locked down to that level.
check_key_enrolled() {
	check_machine
	check_lockdown "$1"
	check_device "$version"
	check "the declared belts have their settings" 'hbctl apply --check /etc/hashbelt'
	check "hbctl doctor finds nothing wrong" 'hbctl doctor'
	check_use "a belt"
	check "a parameter of the module can be changed" \
		'echo 200000000 >/sys/module/hashbelt/parameters/max_bytes'
	case $1 in
	integrity) check "trace points can be enabled" "echo 1 >$traced && echo 0 >$traced" ;;
	*) check "there are no trace points" '[ ! -e /sys/kernel/tracing/events ]' ;;
	esac
	check "the module can be removed" 'rmmod hashbelt'
	check "hbctl doctor says that the key is enrolled" \
		'hbctl doctor >found; [ $? = 3 ] && cat found && grep "^wrong   module   .*the key of DKMS, .*, is enrolled" found'
	check_refusal "a copy of the module without the signature" \
		'cp "$(modinfo -n hashbelt)" unsigned.ko && strip -g unsigned.ko && insmod unsigned.ko' \
		'Loading of unsigned module is rejected'
	check "the module can be loaded again" 'modprobe hashbelt'
	check_use "a belt of the module that was loaded again"
}

# append ARGUMENT - give the kernel one more argument from the next boot on.
append() {
	check "the kernel will get the argument $1" \
		"mount LABEL=ESP /mnt && sed -i 's/^linux .*/& $1/' /mnt/EFI/debian/grub.cfg && umount /mnt"
}

case $boots in
1) check_key_missing ;;
2)
	check_key_enrolled integrity
	append lockdown=confidentiality
	;;
*) check_key_enrolled confidentiality ;;
esac
if [ $boots -lt 3 ]; then
	end_boot reboot
else
	end_boot poweroff
fi
