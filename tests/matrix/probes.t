#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# probes.t SUITE - a test: what compat.mk finds in the headers of that suite's kernel, the compiler finds as
# well, and no more. Each probe is a function that uses what the probe looks for.
set -u

# shellcheck source=tests/matrix/headers.sh
. "$(dirname "$0")/headers.sh"

# uses - print NAME, a tab and a piece of C that compiles where the kernel has NAME.
uses() {
	sed 's/ *| */\t/' <<-'C'
		fault_in_iov_iter_writeable | return fault_in_iov_iter_writeable(p, 1) != 0;
		fault_in_readable | return fault_in_readable(p, 1) != 0;
		fault_in_safe_writeable | return fault_in_safe_writeable(p, 1) != 0;
		hrtimer_setup | hrtimer_setup(p, NULL, CLOCK_BOOTTIME, HRTIMER_MODE_ABS); return 0;
		hrtimer_setup_on_stack | hrtimer_setup_on_stack(p, NULL, CLOCK_BOOTTIME, HRTIMER_MODE_ABS); return 0;
		kmem_cache_alloc_lru | return kmem_cache_alloc_lru(p, p, GFP_KERNEL) == p;
		list_lru_add_obj | return list_lru_add_obj(p, p);
		list_lru_del_obj | return list_lru_del_obj(p, p);
		lru_walk_lock | list_lru_walk_cb f = p; return f(p, p, (spinlock_t *)p, p);
		may_split | return ((struct vm_operations_struct *)p)->may_split == p;
		rb_add | rb_add(p, p, p); return 0;
		rb_find | return rb_find(p, p, p) == p;
		rb_find_add | return rb_find_add(p, p, p) == p;
		rb_find_first | return rb_find_first(p, p, p) == p;
		reclaimed_slab | return ((struct reclaim_state *)p)->reclaimed_slab != 0;
		shrinker_alloc | return shrinker_alloc(0, "probe") == p;
		timens_add_boottime_ns | return timens_add_boottime_ns(0) != 0;
		unnamed_shrinker | return register_shrinker((struct shrinker *)p);
		vm_flags_clear | vm_flags_clear(p, VM_READ); return 0;
		vm_flags_set | vm_flags_set(p, VM_READ); return 0;
		vma_set_file | vma_set_file(p, p); return 0;
	C
}

# program NAME CODE - write the program of a probe.
program() {
	for header in hrtimer list_lru mm pagemap rbtree shrinker slab swap time_namespace uio; do
		echo "#include <linux/$header.h>"
	done
	printf 'int hb_probe_%s(void *p);\nint hb_probe_%s(void *p)\n{\n\t%s\n}\n' "$1" "$1" "$2"
}

# prepare - write the programs, and a Kbuild that prints what compat.mk has found.
prepare() {
	mkdir -p "$root/probe/belt/ground"
	cp "$top/belt/ground/compat.mk" "$root/probe/belt/ground"
	uses | while IFS='	' read -r name code; do
		program "$name" "$code" >"$root/probe/$name.c"
		echo "obj-m += $name.o"
	done >"$root/probe/Kbuild"
	# shellcheck disable=SC2016 # for make
	printf '%s\n' 'include $(src)/belt/ground/compat.mk' '$(info have: $(hb_have))' >>"$root/probe/Kbuild"
}

# answers - print "NAME yes" or "NAME no" for each probe, as the compiler says.
answers() {
	uses | while IFS='	' read -r name code; do
		if [ -s "$root/probe/$name.o" ]; then echo "$name yes"; else echo "$name no"; fi
	done
}

# found - print the same, as belt/ground/compat.mk says.
found() {
	have=$(sed -n 's/^have: *//p' "$temporary/log" | head -n 1)
	uses | while IFS='	' read -r name code; do
		case " $have " in *" $name "*) echo "$name yes" ;; *) echo "$name no" ;; esac
	done
}

# asked - print the names for which belt/ground/compat.h asks.
asked() {
	grep -o 'HB_HAVE_[a-z][a-z_]*' "$top/belt/ground/compat.h" | sed 's/HB_HAVE_//' | LC_ALL=C sort -u
}

uses | cut -f 1 >"$temporary/names"
result "each probe that belt/ground/compat.h asks for has a program" "$(asked | diff "$temporary/names" -)"
prepare
build_in /probe -k modules >"$temporary/log"
result "belt/ground/compat.mk prints what it finds in the headers of $release" \
	"$(grep -q '^have: ' "$temporary/log" || cat "$temporary/log")"
answers >"$temporary/compiler"
found >"$temporary/headers"
result "the compiler accepts some programs for $release" "$(grep -q yes "$temporary/compiler" || cat "$temporary/log")"
while read -r name answer; do
	result "the compiler has $name for $release: $answer, as belt/ground/compat.mk found" \
		"$(grep -qx "$name $answer" "$temporary/headers" || echo "belt/ground/compat.mk found the opposite")"
done <"$temporary/compiler"
finish
