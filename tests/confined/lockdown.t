#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# lockdown.t [LEVEL] - what works on a kernel that is locked down. The module is loaded before, and a
# file raises lockdown, which cannot be taken back. With a LEVEL, the kernel's argument lockdown=LEVEL has
# raised it, and the module is not loaded. Runs in a guest.
# shellcheck disable=SC2317 # a function that at_last calls
set -u

# shellcheck source=tests/hbctl/tap.sh
. /payload/tests/hbctl/tap.sh

state=/sys/kernel/security/lockdown
traced=/sys/kernel/tracing/events/hashbelt/enable
limit=/sys/module/hashbelt/parameters/max_bytes

# is_logged FILE - whether the kernel logs that it refuses the module.
is_logged() {
	insmod "$1" 2>"$temporary/again"
	dmesg | grep -q 'Lockdown: insmod: unsigned module loading is restricted'
}

# refused FILE - print what is wrong if the module can be loaded. The kernel logs ten refusals in five seconds
# at most, and with "confidentiality" it refuses more than that while it boots.
refused() {
	dmesg -c >"$temporary/before"
	if insmod "$1" 2>"$temporary/err"; then
		echo "insmod succeeded"
	else
		grep -v 'Operation not permitted' "$temporary/err"
		at_last is_logged "$1" || echo 'no line in the log'
	fi
}

# accepts VALUE FILE - print what is wrong if the file does not take the value.
accepts() {
	(echo "$1" >"$2") 2>&1
}

# works LEVEL - check what works at a level.
works() {
	result "lockdown=$1 can be set while the module is loaded" "$(accepts "$1" $state)"
	is "lockdown=$1: put works" 0 '' '' hbctl -b locked put key value
	like "lockdown=$1: get works" 0 value '' hbctl -b locked get key
	is "lockdown=$1: an entry expires by hand" 0 '' '' hbctl -b locked expire key
	like "lockdown=$1: its event can be read" 0 '*	expired	key	value' '' hbctl -b locked events
	like "lockdown=$1: the metrics can be read" 0 '*hashbelt_module_used_bytes *' '' \
		hbctl stat --all --prometheus
	result "lockdown=$1: a parameter of the module can be changed" "$(accepts 200000000 $limit)"
}

# raise - raise lockdown by the file while the module is loaded. It is removed at the end.
raise() {
	hbctl create locked --ttl 1h --on-expire notify
	works integrity
	result "lockdown=integrity: trace points can be enabled" "$(accepts 1 $traced)"
	echo 0 >$traced
	works confidentiality
	result "lockdown=confidentiality: trace points cannot be enabled" \
		"$(accepts 1 $traced | grep -q 'Operation not permitted' || echo "no error")"
	hbctl destroy locked
	result "lockdown=confidentiality: the module can be removed" "$(rmmod hashbelt 2>&1)"
}

[ -e $state ] || mount -t securityfs securityfs /sys/kernel/security
[ -e $traced ] || mount -t tracefs tracefs /sys/kernel/tracing
case $# in
0)
	raise
	;;
*)
	result "the argument lockdown=$1 locks the kernel down from its start on" \
		"$(grep -qF "[$1]" $state || cat $state)"
	;;
esac
result "lockdown: the kernel refuses a module without a signature, and logs that" \
	"$(refused /payload/hashbelt.ko)"
result "lockdown: the kernel refuses a module with the signature of an unknown key" \
	"$(refused /payload/confined/signed.ko)"
result "lockdown: it cannot be taken back" \
	"$(accepts none $state | grep -q 'Operation not permitted' || echo "no error")"
result "lockdown: no module is loaded" "$(lsmod | grep hashbelt)"
like "lockdown: hbctl doctor says that the module needs a signature" 3 \
	"wrong   module   hashbelt is not loaded: the kernel is locked down, *" \
	"/dev/hashbelt cannot be used: *" hbctl doctor
finish
