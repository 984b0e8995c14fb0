# SPDX-License-Identifier: GPL-2.0-only
# Looks in the kernel's headers for names that compat.h stands in for. Vendors have newer functions in older
# kernels, so the kernel's version does not tell. HB_HAVE_NAME is defined where a header has NAME, outside of
# comments. compat.h itself asks for macros, with #ifdef.
hb_probed := hrtimer_setup hrtimer_setup_on_stack
hb_probed += shrinker_alloc list_lru_add_obj list_lru_del_obj reclaimed_slab
hb_probed += vm_flags_set vm_flags_clear
hb_probed += kmem_cache_alloc_lru rb_add rb_find rb_find_add rb_find_first vma_set_file may_split
hb_probed += fault_in_readable fault_in_safe_writeable fault_in_iov_iter_writeable timens_add_boottime_ns
hb_headers := $(addprefix $(srctree)/include/linux/,hrtimer.h list_lru.h mm.h pagemap.h rbtree.h shrinker.h \
	slab.h swap.h time_namespace.h uio.h)

hb_empty :=
hb_words := $(subst $(hb_empty) $(hb_empty),|,$(strip $(hb_probed)))
hb_have := $(sort $(shell sed -nE \
	-e '/^[[:space:]]*.?[*]/d' \
	-e 's/.*struct list_lru_one [*]list, spinlock_t .*/lru_walk_lock/p' \
	-e 's/.*\<register_shrinker\(struct shrinker [*][a-z]+\);.*/unnamed_shrinker/p' \
	-e 's/.*\<($(hb_words))\>.*/\1/p' $(hb_headers)))
ccflags-y += $(addprefix -DHB_HAVE_,$(hb_have))

# Until 5.18 the kernel was C89 with extensions of GNU.
ccflags-y += $(if $(filter -std=gnu89,$(KBUILD_CFLAGS)),-std=gnu11)
