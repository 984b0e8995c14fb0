// SPDX-License-Identifier: GPL-2.0-only
/* pushes_test - messages stay whole and in their order, and no more of them wait than may. */
#include <stdlib.h>
#include <string.h>

#include "../device/tap.h"
#include "pushes.h"

#define PART	1000

/* Adds messages, whose bytes count up, and takes as much as a slow socket would, byte for byte. */
static void test_order(void)
{
	unsigned char bytes[PART], next = 0, sent = 0;
	struct pushes pushes = { 0 };
	unsigned int round, i, wrong = 0;

	for (round = 0; round < 20000; round++) {
		for (i = 0; i < PART; i++)
			bytes[i] = next++;
		if (!pushes_add(&pushes, (char *)bytes, 1 + round % PART))
			bail_out("no memory");
		next = bytes[round % PART] + 1;
		for (i = 0; i < 7 * round % PART && !pushes_are_none(&pushes); i++) {
			wrong += (unsigned char)pushes.bytes[pushes.at] != sent++;
			pushes_sent(&pushes, 1);
		}
	}
	while (!pushes_are_none(&pushes)) {
		wrong += (unsigned char)pushes.bytes[pushes.at] != sent++;
		pushes_sent(&pushes, 1);
	}
	is_int(wrong, 0, "the bytes of messages come in their order");
	ok(sent == next, "all of them come");
	ok(!pushes.bytes, "without messages there is no memory");
}

static void test_limit(void)
{
	static char bytes[PART];
	struct pushes pushes = { 0 };
	size_t sum = 0;

	while (pushes_add(&pushes, bytes, PART))
		sum += PART;
	ok(sum <= PUSHES_MAX && sum + PART > PUSHES_MAX, "as many messages wait as may");
	is_int(pushes.size, PUSHES_MAX, "they take no more memory than that");
	pushes_sent(&pushes, PART);
	ok(pushes_add(&pushes, bytes, PART), "one that was sent makes room for another");
	is_int(pushes.size, PUSHES_MAX, "it takes no further memory");
	pushes_end(&pushes);
	ok(pushes_are_none(&pushes) && !pushes.bytes, "the end drops messages and memory");
}

/* All clients together: as many as take all the memory, and one more. */
static void test_all(void)
{
	static struct pushes pushes[PUSHES_ALL_MAX / PUSHES_MAX + 1];
	struct pushes little = { 0 };
	const size_t last = sizeof(pushes) / sizeof(*pushes) - 1;
	static char bytes[PART];
	size_t i, sum = 0;

	for (i = 0; i < last; i++)
		while (pushes[i].size < PUSHES_MAX && pushes_add(&pushes[i], bytes, PART))
			;
	is_int(pushes[last - 1].size, PUSHES_MAX, "so many clients may have the most messages");
	while (pushes_add(&pushes[last], bytes, PART))
		sum += PART;
	ok(sum && sum <= PUSHES_LITTLE, "another one may have a few, found %zu bytes", sum);
	ok(pushes_add(&little, bytes, PART), "so may a third one");
	pushes_end(&pushes[0]);
	ok(pushes_add(&pushes[last], bytes, PART), "the end of one makes room for another");
	for (i = 0; i <= last; i++)
		pushes_end(&pushes[i]);
	pushes_end(&little);
}

int main(void)
{
	test_order();
	test_limit();
	test_all();
	return done_testing();
}
