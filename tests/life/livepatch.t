#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# livepatch.t - the kernel is patched live while tasks wait in the module. Runs in a guest.
# shellcheck disable=SC2317 # functions that "is" calls
set -u

# shellcheck source=tests/hbctl/tap.sh
. /payload/tests/hbctl/tap.sh

patch=/sys/kernel/livepatch/hashbelt_livepatch

# is_settled - whether each task has gone over to the patched functions, or back from them. The kernel
# removes the directory of a patch that has been disabled.
is_settled() {
	[ ! -e "$patch" ] || [ "$(cat "$patch/transition")" = 0 ]
}

# is_in PID FUNCTION - whether the task sleeps in that function.
is_in() {
	grep -q "$2" "/proc/$1/stack"
}

# settled - print what is wrong if the tasks never do.
settled() {
	at_last is_settled || {
		echo "these tasks have not gone over:"
		grep -lx "${1-0}" /proc/[0-9]*/patch_state
	}
}

# wait_still - print where a task is that does not wait: one in poll(2), the other in the module.
wait_still() {
	at_last is_in "$waiter" do_sys_poll || cat "/proc/$waiter/stack"
	at_last is_in "$locker" '\[hashbelt\]' || cat "/proc/$locker/stack"
}

hbctl lock job --owner first --ttl 1h >"$temporary/token"
hbctl lock job --owner second --wait forever >"$temporary/locked" &
locker=$!
hbctl wait key >"$temporary/waited" &
waiter=$!
result "a task waits for a key in poll(2), and another in the module for a lock" "$(wait_still)"
is "a live patch of the kernel can be loaded" 0 '' '' insmod /payload/hashbelt_livepatch.ko
result "all tasks go over to the patched function, those that wait too" "$(settled)"
is "the patched function runs" 0 patched '' cat /proc/cmdline
result "the tasks still wait" "$(wait_still)"
is "a put works on the patched kernel" 0 '' '' hbctl put key value
result "the task that waits for the key has got it" \
	"$(at_last grep -q value "$temporary/waited" || cat "$temporary/waited")"
is "an unlock works" 0 '' '' hbctl unlock job --owner first
result "the task that waits for the lock has got it" \
	"$(at_last test -s "$temporary/locked" || echo "no token")"
wait
is "the module can be removed from the patched kernel" 0 '' '' rmmod hashbelt
is "it can be loaded into it" 0 '' '' insmod /payload/hashbelt.ko
echo 0 >$patch/enabled
result "the patch can be taken back" "$(settled 1)"
is "it can be removed" 0 '' '' rmmod hashbelt_livepatch
finish
