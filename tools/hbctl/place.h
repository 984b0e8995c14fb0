/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that are installed beside the program. */
#ifndef HBCTL_PLACE_H
#define HBCTL_PLACE_H

#include <limits.h>

int place_beside(char path[PATH_MAX], const char *name);

#endif /* HBCTL_PLACE_H */
