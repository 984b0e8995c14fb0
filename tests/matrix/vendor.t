#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vendor.t SUITE [LEAST] - a test: the module compiles where a vendor has put something newer into the headers of that
# suite's kernel. One header is edited at a time, and the object is compiled that uses what is new there. At
# least LEAST edits (1) are needed: the newest kernel lacks nothing.
set -u

# shellcheck source=tests/matrix/headers.sh
. "$(dirname "$0")/headers.sh"

module=$root/vendor
edits=0

# declare_in HEADER TEXT - declare something in a header, inside its guard.
declare_in() {
	awk -v text="$2" '{ line[NR] = $0 } /^#endif/ { last = NR }
		END { for (i = 1; i <= NR; i++) { if (i == last) print text; print line[i] } }' \
		"$root$headers/linux/$1" >"$temporary/header"
	cat "$temporary/header" >"$root$headers/linux/$1"
}

# compiles WHAT OBJECT - report whether the object is compiled without a warning.
compiles() {
	edits=$((edits + 1))
	rm -f "$module/$2"
	build_in /vendor "$2" >"$temporary/log" || echo "make has failed" >>"$temporary/log"
	[ -s "$module/$2" ] || echo "there is no $2" >>"$temporary/log"
	result "$2 compiles where $release has $1 as well" "$(cat "$temporary/log")"
}

# newer NAME HEADER OBJECT TEXT - declare NAME, unless the header has it, and compile the object.
newer() {
	! grep -qw "$1" "$root$headers/linux/$2" || return 0
	cp -p "$root$headers/linux/$2" "$temporary/kept"
	declare_in "$2" "$4"
	compiles "$1" "$3"
	cp -p "$temporary/kept" "$root$headers/linux/$2"
}

# changed WHAT HEADER OBJECT SCRIPT - change a header by a script for sed, unless that changes nothing, and compile
# the object.
changed() {
	cp -p "$root$headers/linux/$2" "$temporary/kept"
	sed -i -E "$4" "$root$headers/linux/$2"
	cmp -s "$temporary/kept" "$root$headers/linux/$2" || compiles "$1" "$3"
	cp -p "$temporary/kept" "$root$headers/linux/$2"
}

# commented NAME HEADER OBJECT - name something in a comment of a header, and compile the object.
commented() {
	cp -p "$root$headers/linux/$2" "$temporary/kept"
	declare_in "$2" "/*
 * $1 - not in this kernel
 */"
	compiles "a comment on $1" "$3"
	cp -p "$temporary/kept" "$root$headers/linux/$2"
}

mkdir -p "$module/device"
cp "$top"/Kbuild "$top"/*.[ch] "$module"
cp -R "$top/belt" "$module"
cp "$top"/device/*.[ch] "$module/device"
# The first object brings what those after it need, and shows that all is well before the edits.
for object in belt/ground/clock.o belt/wait/lease.o belt/wait/lock.o belt/shard/mark.o belt/keys/put.o \
	belt/room/shrink.o belt/shard/window.o device/item.o device/map.o device/reader.o device/registry.o; do
	compiles "nothing" "$object"
done
unchanged=$edits

timer='struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *), clockid_t clock, enum hrtimer_mode mode'
newer hrtimer_setup hrtimer.h belt/ground/clock.o "void hrtimer_setup($timer);"
newer hrtimer_setup_on_stack hrtimer.h belt/wait/lease.o "void hrtimer_setup_on_stack($timer);"
newer shrinker_alloc shrinker.h belt/room/shrink.o "struct shrinker *shrinker_alloc(unsigned int flags, const char *fmt, ...);
void shrinker_register(struct shrinker *shrinker);
void shrinker_free(struct shrinker *shrinker);"
newer list_lru_add_obj list_lru.h belt/shard/mark.o 'bool list_lru_add_obj(struct list_lru *lru, struct list_head *item);'
newer list_lru_del_obj list_lru.h belt/shard/mark.o 'bool list_lru_del_obj(struct list_lru *lru, struct list_head *item);'
flags='static inline void vm_flags_X(struct vm_area_struct *vma, unsigned long flags) {}'
newer vm_flags_set mm.h device/map.o "$(echo "$flags" | sed 's/X/set/')"
newer vm_flags_clear mm.h device/map.o "$(echo "$flags" | sed 's/X/clear/')"
newer vma_set_file mm.h device/map.o 'void vma_set_file(struct vm_area_struct *vma, struct file *file);'
newer kmem_cache_alloc_lru slab.h belt/shard/mark.o 'struct list_lru;
void *kmem_cache_alloc_lru(struct kmem_cache *s, struct list_lru *lru, gfp_t flags);'
newer fault_in_readable pagemap.h device/item.o 'size_t fault_in_readable(const char __user *from, size_t size);'
newer fault_in_safe_writeable pagemap.h device/item.o \
	'size_t fault_in_safe_writeable(const char __user *to, size_t size);'
newer fault_in_iov_iter_writeable uio.h device/reader.o \
	'size_t fault_in_iov_iter_writeable(const struct iov_iter *i, size_t bytes);'
find='const void *key, const struct rb_root *tree, int (*cmp)(const void *key, const struct rb_node *node)'
newer rb_find rbtree.h device/registry.o "struct rb_node *rb_find($find);"
newer rb_find_first rbtree.h device/registry.o "struct rb_node *rb_find_first($find);"
newer rb_find_add rbtree.h device/registry.o 'struct rb_node *rb_find_add(struct rb_node *node, struct rb_root *tree,
	int (*cmp)(struct rb_node *node, const struct rb_node *other));'
newer rb_add rbtree.h belt/wait/lock.o 'void rb_add(struct rb_node *node, struct rb_root *tree,
	bool (*less)(struct rb_node *node, const struct rb_node *other));'
newer timens_add_boottime_ns time_namespace.h device/map.o 'static inline u64 timens_add_boottime_ns(u64 ns) { return ns; }'
newer memset_after string.h belt/shard/window.o '#define memset_after(obj, v, member) memset(obj, v, 1)'
newer preempt_disable_nested preempt.h belt/keys/put.o '#define preempt_disable_nested() do { } while (0)
#define preempt_enable_nested() do { } while (0)'
newer TASK_FREEZABLE sched.h belt/wait/lease.o '#define TASK_FREEZABLE 0x00002000'
changed "names of shrinkers" shrinker.h belt/room/shrink.o \
	's/ register_shrinker\(struct shrinker \*shrinker\);/ register_shrinker(struct shrinker *shrinker, const char *fmt, ...);/'
changed "reclaim_state.reclaimed" swap.h belt/room/shrink.o 's/reclaimed_slab;/reclaimed;/'
changed "no lock for the walk of a list_lru" list_lru.h belt/room/shrink.o 's/, spinlock_t \*lock, void \*cb_arg/, void *cb_arg/'
changed "may_split" mm.h device/map.o 's/\(\*split\)/(*may_split)/'
tried=$((edits - unchanged))
# A comment declares nothing, be it on what is newer or on what is gone.
commented "hrtimer_setup()" hrtimer.h belt/ground/clock.o
commented "reclaimed_slab" swap.h belt/room/shrink.o
result "at least ${2-1} edits of the headers of $release were needed" "$([ $tried -ge "${2-1}" ] || echo "it was $tried")"
finish
