/* SPDX-License-Identifier: GPL-2.0-only */
/* Bars of a diagram, as long as the terminal allows. */
#ifndef COMMON_BAR_H
#define COMMON_BAR_H

#include <stddef.h>
#include <stdio.h>

#include <linux/types.h>

/* Space for the label of a bar, bytes: two durations and a few words. */
#define LABEL_SIZE	128

/**
 * struct bar - a row of a diagram
 * @label:	the name of the bar, in ASCII
 * @count:	its length
 */
struct bar {
	char label[LABEL_SIZE];
	__u64 count;
};

int terminal_columns(void);
int bar_draw(FILE *file, __u64 count, __u64 most, int width);
void bars_print(const struct bar *bars, size_t count);

#endif /* COMMON_BAR_H */
