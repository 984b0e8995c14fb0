#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# boot_guest.sh OLD NEW - the part of boot.t that runs in the guest, once after each boot. OLD and NEW
# are the versions of the packages.
# shellcheck disable=SC2016 # the shells that check starts expand their commands
set -u

# shellcheck source=tests/packages/guest.sh
. "$(dirname "$0")/guest.sh"
old=$1 new=$2

# as_alice COMMAND - print a command that runs another one as a member of the group hashbelt.
as_alice() {
	echo "runuser -u alice -- sh -ec '$1'"
}

# check_boot VERSION - the declared belts are there, and nothing else is in them.
check_boot() {
	check_machine
	check_device "$1"
	check "hashbelt.service is active" 'systemctl status hashbelt'
	check "the declared belts have their settings" 'hbctl apply --check /etc/hashbelt'
	check "there are no other belts" \
		'hbctl belts -o name --noheadings | sort | tr "\n" " " | tee /dev/stderr |
			grep -qx "default kept locks sessions shop "'
	check "the belt sessions has the time-to-live and the limit of its file" \
		'hbctl export | sed -n "/^.sessions/,/^$/p" >found; cat found
		grep -qx "ttl = 30m" found && grep -qx "max-bytes = 256M.*" found'
	check "the belts are empty" '[ "$(hbctl -b shop size)" = 0 ]'
	check "a member of the group puts from a shell script" \
		"$(as_alice './login alice dark')"
	check "a C program of this member gets that value" \
		"$(as_alice './visit alice | tee /dev/stderr | grep -qx "alice: visit 1, theme=dark"')"
	check "a C++ program of this member gets it, and puts another value" \
		"$(as_alice './theme alice light | tee /dev/stderr | grep -qx "alice: theme=dark"')"
	check "a Python program of this member gets the value of the C++ program, and puts another one" \
		"$(as_alice 'python3 theme.py alice blue | tee /dev/stderr | grep -qx "alice: theme=light"')"
	check "a shell script gets the value of the Python program" \
		"$(as_alice 'hbctl -b shop get session:alice | tee /dev/stderr | grep -qx "theme=blue"')"
	check "a user outside of the group may not open the device" \
		'runuser -u nobody -- hbctl -b shop get session:alice; [ $? = 3 ]'
	check "hbctl doctor finds nothing wrong" "hbctl doctor"
}

# upgrade - carry out the commands of the document while the belts have entries. False: they failed.
# DKMS compiles the module: that takes minutes in an emulator.
upgrade() {
	hbctl -b shop dump --absolute | grep '^session:' >deadline
	when="after the upgrade"
	check "the documented commands succeed" 'cd /packages/now && sh -ex /test/upgrade' 1800 || return
	check_device "$new"
	check "the entries are there" \
		"$(as_alice './visit alice | tee /dev/stderr | grep -qx "alice: visit 2, theme=blue"')"
	check "an entry has the deadline that it had" \
		'hbctl -b shop dump --absolute | grep "^session:" | cat deadline - | tee /dev/stderr |
			awk "{ sub(/^@/, \"\", \$3); d[NR] = \$3 } END { exit !(NR == 2 && (d[1] - d[2])^2 < 1) }"'
	check "the declared belts have their settings" 'hbctl apply --check /etc/hashbelt'
	check "a belt that no file declares has its settings" \
		'hbctl export | sed -n "/^.own/,/^$/p" | tee /dev/stderr | grep -qx "ttl = 7m"'
	check "hashbelt.service is active" 'systemctl status hashbelt'
	return 0
}

# remove - remove the package of the module while a program uses a belt.
remove() {
	when="after the removal of the package"
	runuser -u alice -- hbctl -b shop events --follow >followed 2>&1 &
	reader=$!
	check "a program uses a belt" \
		'for i in $(seq 100); do [ "$(cat /sys/module/hashbelt/refcnt)" = 0 ] || exit 0; sleep 0.1; done; exit 1'
	check "the documented command succeeds" 'cd /packages/now && sh -ex /test/remove'
	check "the module is not on the disk" '! modinfo hashbelt'
	check "the program still runs" "kill -0 $reader"
	check "the belts are still there" "$(as_alice 'hbctl -b shop get session:alice')"
	check "rmmod refuses while the program runs" '! rmmod hashbelt'
	kill "$reader"
	wait "$reader"
	check "rmmod removes the module after its end" 'rmmod hashbelt'
	check "files in /etc/hashbelt stay" 'ls /etc/hashbelt/belts.conf'
}

case $boots in
1)
	check_boot "$old"
	check "an entry is put into a belt with save = yes" 'hbctl -b kept put over "the reboot" --ttl 5h'
	;;
2)
	check_boot "$old"
	check "the entry of the belt with save = yes is there after the reboot" \
		'hbctl -b kept get over | tee /dev/stderr | grep -qx "the reboot"'
	check "no file of it is left" 'find /var/lib/hashbelt -mindepth 1 | tee /dev/stderr | wc -l | grep -qx 0'
	check "only root may read the directory of saved belts" \
		'stat -c "%U %a" /var/lib/hashbelt | tee /dev/stderr | grep -qx "root 700"'
	check "a belt that no file declares is made" 'hbctl create own --ttl 7m'
	if upgrade; then
		remove
	else
		boots=3
	fi
	;;
*)
	check_machine
	check "the module is not loaded" '[ ! -e /sys/module/hashbelt ] && [ ! -e /dev/hashbelt ]'
	;;
esac
if [ $boots -lt 3 ]; then
	end_boot reboot
else
	end_boot poweroff
fi
