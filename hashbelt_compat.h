/* SPDX-License-Identifier: GPL-2.0 */
/* All that differs between the kernels that hashbelt builds on, 6.1 and later. */
#ifndef _HASHBELT_COMPAT_H
#define _HASHBELT_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

/* hrtimer_init() and a bare assignment became hrtimer_setup() in 6.13. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hb_hrtimer_setup(struct hrtimer *timer,
				    enum hrtimer_restart (*fn)(struct hrtimer *),
				    clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#else
#define hb_hrtimer_setup hrtimer_setup
#endif

/*
 * A buffer on the stack that is written before it is read: kernels that zero
 * all automatic variables need not zero it on every call.
 */
#if __has_attribute(__uninitialized__)
#define HB_UNINITIALIZED __attribute__((__uninitialized__))
#else
#define HB_UNINITIALIZED
#endif

#endif /* _HASHBELT_COMPAT_H */
