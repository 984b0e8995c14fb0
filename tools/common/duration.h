/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations and sizes, as people write and read them. */
#ifndef COMMON_DURATION_H
#define COMMON_DURATION_H

#include <stddef.h>

#include <linux/types.h>

/* Space for the text of duration_format() and size_format(), bytes. */
#define DURATION_SIZE	48

int duration_parse(const char *text, __u64 *ms);
const char *duration_format(char *text, __u64 ms);
const char *duration_format_ns(char *text, __u64 ns);
int number_parse(const char *text, __u64 *number);
int size_parse(const char *text, __u64 *bytes);
const char *size_format(char *text, __u64 bytes);

#endif /* COMMON_DURATION_H */
