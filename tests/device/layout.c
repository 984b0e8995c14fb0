// SPDX-License-Identifier: GPL-2.0-only
/*
 * layout - the interface has one layout for all programs.
 *
 * The rows of layout.h are checked when this file is compiled: sizes, offsets and request numbers
 * are the same for 32 and 64 bits and must not change. tests/generate.sh checks that the numbers
 * of counters do not change. The program itself only reports that it was compiled.
 */
#include <stddef.h>

#include "hashbelt.h"
#include "tap.h"

/* The compiler names the row of layout.h whose array has a negative size. */
#define ROW(condition)	sizeof(char[(condition) ? 1 : -1]),
#define SIZE(type, size)	ROW(sizeof(struct hashbelt_##type) == (size))
#define FIELD(type, field, offset, size) \
	ROW(offsetof(struct hashbelt_##type, field) == (offset) && \
	    sizeof(((struct hashbelt_##type *)0)->field) == (size))
#define IOCTL(name, number, rights)	ROW(HASHBELT_IOC_##name == (number))
#define VALUE(name, value)	ROW(HASHBELT_##name == (value))

static const size_t rows[] = {
#include "layout.h"
};

int main(void)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		count += rows[i];
	ok(count > 200,
	   "all %zu sizes, offsets and numbers are unchanged, with pointers of %zu bits",
	   count, 8 * sizeof(void *));
	return done_testing();
}
