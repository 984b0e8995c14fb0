/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands that a belt cannot carry out. */
#ifndef HBSERVE_REFUSED_H
#define HBSERVE_REFUSED_H

#include "session.h"

void refused_log(struct redis *redis, int fd, const struct word *name, const char *advice);

#endif /* HBSERVE_REFUSED_H */
