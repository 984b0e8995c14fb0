/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mode.h - what a fault hits: for the module (inject.h) and for fault_test (fault.h).
 *
 * A site is a call of the module that can fail. A point is a site, or a hook of the kernel's own
 * fault injection.
 *
 * FAULT_POINT		the n-th point fails
 * FAULT_ALLOCATIONS	all sites that allocate fail, from the n-th on
 * FAULT_SITE		the n-th site fails as a whole, however many hooks the kernel passes before
 * FAULT_MODULE_POINT	the n-th point fails, counted from the first site
 *
 * The test writes the number to /proc/PID/fail-nth: @n itself for FAULT_POINT, and for each other
 * mode its base and @n steps. The kernel counts down by one for each hook that it passes, so a
 * step is longer than any call has hooks.
 */
#ifndef _FAULT_MODE_H
#define _FAULT_MODE_H

enum fault_mode { FAULT_POINT, FAULT_ALLOCATIONS, FAULT_SITE, FAULT_MODULE_POINT };

#define FAULT_STEP			0x10000u
#define FAULT_ALLOCATIONS_BASE		0x40000000u
#define FAULT_SITE_BASE			0x60000000u
#define FAULT_MODULE_POINT_BASE		0x80000000u

#endif /* _FAULT_MODE_H */
