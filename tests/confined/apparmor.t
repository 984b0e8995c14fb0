#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# apparmor.t - the profiles that docs/hardening.md shows do what it says. Runs in a guest.
set -u

# shellcheck source=tests/hbctl/tap.sh
. /payload/tests/hbctl/tap.sh

# as_nobody COMMAND - run a command without the rights of root.
as_nobody() {
	su nobody -c "$1"
}

[ -d /sys/kernel/security/apparmor ] || mount -t securityfs securityfs /sys/kernel/security
mkdir -p /usr/local/bin /etc/apparmor
: >/etc/apparmor/parser.conf
for program in cache-reader cache-writer no-cache; do
	cp /payload/hbctl /usr/local/bin/$program
done
awk '/^```/ { inside = !inside; next } inside && /^profile /, inside && /^}/' \
	/payload/docs/hardening.md >"$temporary/profiles"
chmod 666 /dev/hashbelt
as_nobody 'hbctl create shared --ttl 1h && hbctl -b shared put key value'
denied='no right to open /dev/hashbelt, though its mode allows it: a security module (SELinux, AppArmor) *'
read_only="no right to write belt 'shared': the device is open for reading only, though its mode allows more: a security module *"
none="there is no belt 'default', or you have no right to it*"

is "AppArmor loads the profiles of docs/hardening.md" 0 '' '' \
	/payload/confined/apparmor_parser --skip-kernel-load "$temporary/profiles"
/payload/confined/apparmor_parser --skip-cache --add "$temporary/profiles"
is "the kernel has the three profiles" 0 3 '' \
	grep -c 'cache.* (enforce)' /sys/kernel/security/apparmor/profiles
is "a program that may read and write the device can put" 0 '' '' \
	as_nobody '/usr/local/bin/cache-writer -b shared put key new'
like "it can get" 0 new '' as_nobody '/usr/local/bin/cache-writer -b shared get key'
like "a program that may only read the device can get" 0 new '' \
	as_nobody '/usr/local/bin/cache-reader -b shared get key'
is "a program that may only read the device cannot put, and the error names a security module" 3 '' \
	"$read_only" as_nobody '/usr/local/bin/cache-reader -b shared put key other'
is "a program without a rule for the device cannot open it, and the error names a security module" 3 '' "$denied" \
	as_nobody '/usr/local/bin/no-cache -b shared get key'
result "the kernel logs the refusal" "$(dmesg | grep -q \
	'apparmor="DENIED" operation="open".*profile="no-cache" name="/dev/hashbelt"' || dmesg | tail)"
is "a confined root without capabilities has no right to root's belt" 3 '' "$none" \
	/usr/local/bin/cache-writer put key value
is "a confined root cannot open the device either, and gets the same error" 3 '' "$denied" \
	/usr/local/bin/no-cache get key
is "root without a profile has" 0 '' '' hbctl put key value
as_nobody 'hbctl destroy shared'
chmod 600 /dev/hashbelt
hbctl clear
finish
