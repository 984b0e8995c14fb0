/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _CLAIRVOYANT_H
#define _CLAIRVOYANT_H

#include "trace.h"

uint64_t *next_reads(const struct trace *trace);
uint64_t least_misses(const struct trace *trace, uint64_t room);

#endif /* _CLAIRVOYANT_H */
