/* SPDX-License-Identifier: GPL-2.0-only */
/* The module as a whole. */
#ifndef MANAGE_MODULE_H
#define MANAGE_MODULE_H

#include <stdbool.h>

#include <hashbelt/client.h>

/**
 * enum module_trust - which modules the kernel loads
 * @MODULE_ANY:			it is not locked down: any module
 * @MODULE_TRUSTED:		the key of DKMS is enrolled: those that DKMS has built
 * @MODULE_NOT_ENROLLED:	Secure Boot is on, and the key of DKMS is not enrolled
 * @MODULE_UNKNOWN_KEY:		those with the signature of a trusted key; DKMS has no key, or the
 *				kernel is locked down without Secure Boot
 */
enum module_trust {
	MODULE_ANY,
	MODULE_TRUSTED,
	MODULE_NOT_ENROLLED,
	MODULE_UNKNOWN_KEY,
};

enum module_trust module_trust(void);
bool module_parameter(const char *name, __u64 *number);

#endif /* MANAGE_MODULE_H */
