/* SPDX-License-Identifier: GPL-2.0-only */
/* The module as a whole. */
#ifndef HBCTL_MODULE_H
#define HBCTL_MODULE_H

#include <stdbool.h>

#include <hashbelt/client.h>

bool module_parameter(const char *name, __u64 *number);

#endif /* HBCTL_MODULE_H */
