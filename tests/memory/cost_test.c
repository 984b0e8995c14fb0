// SPDX-License-Identifier: GPL-2.0-only
/*
 * cost_test - what a plain get costs beside an ioctl that returns at once.
 *
 * For a guest whose time is the number of instructions that it has executed: a nanosecond is one
 * instruction. tests/bench/cost.t has the costs of all operations.
 */
#define _GNU_SOURCE
#include <time.h>

#include "process.h"

#define CALLS	1000

/* Instructions of a call, on average. */
static __u64 cost_of(int fd, unsigned long request, void *argument)
{
	__u64 began = wall_ns();
	unsigned int i;

	for (i = 0; i < CALLS; i++)
		must(fd, request, argument);
	return (wall_ns() - began) / CALLS;
}

int main(void)
{
	int belt = new_belt(0);
	char text[80];
	struct hashbelt_item item = text_item("0123456789abcdef", text);
	__u64 floor, get;
	__u32 abi;

	memset(text, 'x', sizeof(text));
	item.value_len = 64;
	must(belt, HASHBELT_IOC_PUT, &item);
	item.value_len = sizeof(text);
	floor = cost_of(belt, HASHBELT_IOC_ABI, &abi);
	get = cost_of(belt, HASHBELT_IOC_GET, &item);
	note("%llu instructions, and %llu of a call that returns at once", get, floor);
	ok(10 * get <= 19 * floor, "a get costs at most 1.9 times a call that returns at once");
	return done_testing();
}
