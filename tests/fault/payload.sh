#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# payload.sh KDIR - build what the fault tests run in a guest, and print the directory:
# the module with inject.h, for the kernel whose build folder is KDIR; the list of the
# sites in it; the program fault_test.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
tests=$here/..
top=$(cd "$tests/.." && pwd)
O=$top/.cache/build/fault
payload=$O/payload
kdir=$1

# The symbols of the calls that inject.h makes sites of; and of calls that cannot fail.
watched='__kmalloc|kmalloc_trace|kmalloc_large|kmem_cache_alloc|kvmalloc_node|__vmalloc'
watched="$watched|kmem_cache_alloc_bulk|kmem_cache_alloc_lru|kmem_cache_create|kmem_cache_create_usercopy|__list_lru_init|__alloc_percpu_gfp|__percpu_counter_init"
watched="$watched|alloc_workqueue|register_shrinker|misc_register|get_zeroed_page|anon_inode_getfile"
watched="$watched|_copy_(from|to)_user|__(get|put)_user_nocheck_[1248]"
harmless='kmalloc_caches|misc_deregister|unregister_shrinker|init_user_ns'
harmless="$harmless|should_fail_usercopy|perf_trace_buf_alloc|is_vmalloc_addr|vmalloc_to_pfn|__asan_.*"
suspect='alloc|create|dup|_user|percpu_.*_init|srcu|register|get_free|strncpy|ida_|xa_'

# A call that inject.h does not make a site of would never fail in the tests.
check_calls() {
	unknown=$(nm -u "$1" | awk '{ print $2 }' | grep -E "$suspect" |
		grep -vxE "$watched|$harmless" || true)
	[ -z "$unknown" ] || {
		echo "payload.sh: make sites of these in inject.h:" "$unknown" >&2
		exit 1
	}
}

# FILE:LINE CALL FUNCTION: the function is the last that began before the line. No two files of
# the module have the same name.
name_functions() {
	while read -r place call; do
		source=$(find "$top" "$top"/belt/* "$top/device" -maxdepth 1 -name "${place%%:*}")
		awk -v place="$place" -v call="$call" -v last="${place##*:}" '
			NR > last { exit }
			/^[a-z].*[a-z0-9_]\(/ && !/;$/ {
				name = $0
				sub(/\(.*/, "", name)
				sub(/.*[ *]/, "", name)
			}
			END { print place, call, name }
		' "$source"
	done
}

sites() {
	objcopy -O binary --only-section=hb_sites "$1" "$O/hb_sites"
	tr '\000' '\n' <"$O/hb_sites" | sed -n '/^[a-z_]*\.[ch]:/p' | sort -t : -k 1,1 -k 2n
}

"$tests/need.sh" gcc make binutils >&2
mkdir -p "$payload"
# With the compiler of the kernel, by the name in its configuration.
compiler=$(sed -n 's/^CONFIG_CC_VERSION_TEXT="\([^ ]*\) .*/\1/p' "$kdir/.config")
KCFLAGS="-include $here/inject.h" MAKEFLAGS="CC=$compiler" \
	"$tests/module.sh" "$kdir" "$O/module" >&2
check_calls "$O/module/hashbelt.ko"
sites "$O/module/hashbelt.ko" | name_functions >"$payload/sites"
make -s -C "$tests" "$payload/fault_test" >&2
cp "$O/module/hashbelt.ko" "$tests/guest.sh" "$here/unreached" "$payload"
echo "$payload"
