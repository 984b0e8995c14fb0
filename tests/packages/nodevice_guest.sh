#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# nodevice_guest.sh VERSION - the part of nodevice.t that runs in the guest. VERSION is that of the packages,
# and /test/hashbelt.ko* the module.
# shellcheck disable=SC2016 # the shells that check starts expand their commands
set -u

# shellcheck source=tests/packages/guest.sh
. "$(dirname "$0")/guest.sh"
version=$1
units="hashbelt hbserve@shop hbfollow@shop"
missing="there is no device /dev/hashbelt: load the module with"

# said UNIT - print when the journal first got the cause below the unit, microseconds after the kernel's start.
said() {
	journalctl -b --no-pager -o short-monotonic -u "$1" |
		sed -n "s|^\[ *\([0-9]*\)\.\([0-9]*\)\].*$missing.*|\1\2|p" | head -n 1
}

# moment UNIT PROPERTY - print when that was, on the same clock.
moment() {
	systemctl show -p "$2TimestampMonotonic" --value "$1"
}

# at_last COMMAND - print a command that waits until another one succeeds.
at_last() {
	echo "until $1; do sleep 0.1; done"
}

# Without the module
check "the boot comes to its end" 'systemctl is-system-running --wait; systemctl is-active multi-user.target'
ended=$(moment multi-user.target ActiveEnter)
check "the module is not there" '! modinfo hashbelt && [ ! -e /dev/hashbelt ]'
for unit in $units; do
	check "$unit has failed" "systemctl is-failed $unit"
	check "the journal has the cause below $unit, from one attempt" \
		"journalctl -b --no-pager -o cat -u $unit | tee /dev/stderr | grep -q '$missing' &&
			[ \"\$(systemctl show -p NRestarts --value $unit)\" = 0 ]"
	began=$(moment "$unit" InactiveExit)
	said=$(said "$unit")
	# A wait for the device would take 90 s, several times as long as a boot up to there. On a busy machine both
	# take longer.
	check "the journal has it sooner after $unit began than the boot had taken until then, and before its end" \
		"echo '$unit began at $began us, the cause came at $said us, and the boot ended at $ended us'
		[ '$said' ] && [ $((said - began)) -lt $began ] && [ $((ended - said)) -gt 0 ]"
done
check "no unit waits for the device" '! systemctl list-jobs --no-legend | grep .'
check "a client is refused, and does not wait" \
	'python3 -c "
import socket
try:
	socket.socket(socket.AF_UNIX).connect(\"/run/hashbelt/shop.sock\")
except FileNotFoundError as error:
	print(error)
else:
	raise SystemExit(1)"'
check "the journal says nothing of unset variables" '! journalctl -b --no-pager | grep "Referenced but unset"'
check "hbctl doctor names the missing headers as the one cause" \
	'hbctl doctor >found; [ $? = 3 ] && cat found && [ "$(grep -c "^wrong" found)" = 1 ] &&
		grep "^wrong   module   .*headers" found'
check "hbctl doctor says that the units wait for the device" \
	'grep "^advice  serve    hbserve@shop: waits for the device" found &&
		grep "^advice  follow   hbfollow@shop: waits for the device" found'
check "hbctl doctor has no advice that cannot help" '! grep -e modules-load.d -e "make install" -e tracefs found'
for unit in hashbelt hashbelt-metrics; do
	check "systemd rates the exposure of $unit below 2" \
		"systemd-analyze security --no-pager --threshold=20 $unit.service >rated 2>&1 || { tail -n 1 rated; exit 1; }"
done

# With it
when="after the module was loaded"
check "the module is loaded" 'insmod hashbelt.ko*'
check_device "$version"
for unit in $units; do
	check "$unit starts by itself" "$(at_last "systemctl is-active $unit")"
done
check "so does the socket" "$(at_last 'systemctl is-active hbserve@shop.socket')"
check "the declared belt has its settings" 'hbctl apply --check /etc/hashbelt'
check "a client is served" \
	'python3 -c "
import socket
client = socket.socket(socket.AF_UNIX)
client.connect(\"/run/hashbelt/shop.sock\")
client.sendall(b\"version\\r\\n\")
print(client.recv(100))"'
check "hbctl doctor knows of nothing that waits" '! hbctl doctor | grep "waits for the device"'
check "an entry is put into the belt with save = yes" \
	'systemctl stop hbfollow@shop "hbserve*" && hbctl -b shop put over "a restart"'
check "the belt is saved" \
	'systemctl stop hashbelt && find /var/lib/hashbelt -name shop.belt | tee /dev/stderr | grep -q .'
check "its entry is loaded" \
	'hbctl destroy shop && systemctl start hashbelt && hbctl -b shop get over | tee /dev/stderr | grep -qx "a restart"'
check "the metrics are written" \
	'systemctl start hashbelt-metrics && grep "^hashbelt_entries.*shop" /var/lib/prometheus/node-exporter/hashbelt.prom'
end_boot poweroff
