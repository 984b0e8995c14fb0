/* SPDX-License-Identifier: GPL-2.0-only */
/* The command "stats". */
#ifndef HBSERVE_REPORT_H
#define HBSERVE_REPORT_H

#include <stdbool.h>

struct output;
struct work;

/* The version of memcached whose protocol is served. */
#define MEMCACHED_VERSION	"1.6.45"

bool report(struct work *work);
bool report_line(struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* HBSERVE_REPORT_H */
