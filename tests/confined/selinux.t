#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# selinux.t - hashbelt under Debian's policy for SELinux, in enforcing mode, and the policy modules that
# docs/hardening.md shows. Runs on a Debian with systemd, in a guest of machine.sh.
#
# The shell that runs this script is in the domain initrc_t, which is unconfined. selinux.cil has the
# domains of the three programs.
# shellcheck disable=SC2317 # functions that "is" calls
set -u

# shellcheck source=tests/confined/shown.sh
. /payload/tests/confined/shown.sh

# as_alice COMMAND... - run a command without the rights of root. su would change the domain.
as_alice() {
	setpriv --reuid alice --regid alice --init-groups -- "$@"
}

# is_logged PERMISSIONS PROGRAM TYPE [IOCTL] - whether the kernel has logged that it denied a program of a
# type this access to the device.
is_logged() {
	dmesg | grep "avc:  denied  { $1 } .* comm=\"$2\" .*${4:+ ioctlcmd=$4 }.*:$3:s0 " |
		grep -q ':hashbelt_device_t:s0 tclass=chr_file permissive=0'
}

# denied PERMISSIONS PROGRAM TYPE [IOCTL] - print what is wrong if it never does. A kernel thread writes
# the lines, some time after the call.
denied() {
	at_last is_logged "$@" || dmesg | grep 'avc:  denied' | tail -n 5
}

# numbers - print the calls that tools/hashbelt.cil lists and that have another number in hashbelt.h.
numbers() {
	awk 'FNR == NR && $2 ~ /^HASHBELT_IOC_/ {
			sub(/[,)]/, "", $4)
			number[substr($2, 14)] = $4
		}
		FNR != NR && /^\t0xbe/ {
			listed++
			if ("0x" substr($1, 5) != number[$3])
				print $3 ": " $1 ", in hashbelt.h " number[$3]
		}
		END { if (!listed) print "no calls are listed" }' \
		/usr/include/hashbelt/uapi.h /usr/share/doc/hashbelt/hashbelt.cil
}

# type_of FILE - print the type of a file.
type_of() {
	stat -c %C "$1" | cut -d : -f 3
}

# refused DEED IOCTL CALL COMMAND... - a program of the domain cache_reader_t makes a call that is refused.
refused() {
	deed=$1 number=$2
	error="a security module (SELinux) refuses $3 on belt *: 'ausearch -m avc' or 'journalctl -k' shows *"
	shift 3
	is "a reader cannot $deed, and the error names SELinux and its log" 3 '' "$error" \
		as_alice cache-reader "$@"
	result "the kernel logs the ioctl by which a reader tried to $deed" \
		"$(denied ioctl cache-reader cache_reader_t "$number")"
}

closed='no right to open /dev/hashbelt: the mode of a directory or a security module (SELinux, AppArmor) *'
# Otherwise the kernel drops lines, by the time between them.
echo 0 >/proc/sys/kernel/printk_ratelimit
for program in cache-reader cache-writer no-cache; do
	cp /usr/bin/hbctl /usr/local/bin/$program
done
cp -r /usr/lib/hashbelt /usr/local/lib
awk '/^```/ { inside = !inside; next } inside && /^\(typeattributeset/' /payload/docs/hardening.md \
	>"$temporary/site.cil"
is "SELinux is in enforcing mode" 0 Enforcing '' getenforce
result "systemd has loaded the module at boot" \
	"$(systemctl status systemd-modules-load | grep -q 'status=0/SUCCESS' ||
		systemctl status systemd-modules-load)"
is "the device has the type of an unknown device" 0 device_t '' type_of /dev/hashbelt
run_shown '## SELinux' 'sh -c'
result "the calls of readers have the numbers of hashbelt.h" "$(numbers)"
run semodule -i /payload/tests/confined/selinux.cil "$temporary/site.cil"
want ''
result "a policy module of a site adds domains to the attributes" "$(complaints)"
restorecon -R /usr/local/bin /usr/local/lib
is "a program without a rule for its domain is unconfined, and makes all calls" 0 '' '' \
	hbctl create shared --ttl 1h --mode 0666 --on-expire notify
is "a client can put" 0 '' '' as_alice cache-writer -b shared put key value
like "it can get" 0 value '' as_alice cache-writer -b shared get key
like "a reader can get" 0 value '' as_alice cache-reader -b shared get key
like "it can scan" 0 key '' as_alice cache-reader -b shared keys
like "it can list belts" 0 '*shared*' '' as_alice cache-reader belts -o name
hbctl -b shared put old value
hbctl -b shared expire old
like "a reader can take events" 0 '*expired*old*' '' as_alice cache-reader -b shared events
refused put 0xbe02 put -b shared put key other
refused remove 0xbe04 remove -b shared rm key
refused clear 0xbe08 clear -b shared clear
refused "make a belt" 0xbe40 create create own
refused "take a lock" 0xbe50 lock -b shared lock job
is "root in the domain of a reader cannot make a belt, and gets the same error" 3 '' \
	"a security module (SELinux) refuses create on belt 'own': *" cache-reader create own
is "a domain in neither attribute cannot open the device, and the error names a security module" 3 '' \
	"$closed" as_alice no-cache -b shared get key
is "root in this domain cannot either, and gets the same error" 3 '' "$closed" no-cache -b shared get key
result "the kernel logs that open" "$(denied 'read write' no-cache no_cache_t)"
is "root has no right to root's belts in a domain without its capabilities" 3 '' \
	"there is no belt 'default', or you have no right to it*" cache-writer get key
like "the entry is that of the client" 0 value '' hbctl -b shared get key
hbctl destroy shared
is "the module can be removed" 0 '' '' rmmod hashbelt
is "the module can be loaded again" 0 '' '' modprobe hashbelt
udevadm settle
is "udev gives the device its type again" 0 hashbelt_device_t '' type_of /dev/hashbelt
finish
