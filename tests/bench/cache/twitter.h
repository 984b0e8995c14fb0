/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _TWITTER_H
#define _TWITTER_H

#include <stdio.h>

#include "trace.h"

/* Return: 0; or the number of the first line that cannot be read, and an empty trace. */
size_t twitter_read(FILE *file, struct trace *trace);

#endif /* _TWITTER_H */
