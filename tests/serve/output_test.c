// SPDX-License-Identifier: GPL-2.0-only
/* output_test - replies are sent in their order, as few pieces, and their memory goes back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/tap.h"
#include "output.h"

/* Of a chunk, and more than that: see output.c. */
#define CHUNK	((size_t)64 * 1024)
#define LARGE	(2 * CHUNK)

/* The longest reply that is moved. */
#define MOVED	1024

static struct chunk_pool pool;

/* Puts together all that is to be sent. Return: its length. */
static size_t flatten(const struct output *output, char *text)
{
	const struct iovec *pieces;
	size_t len = 0;
	int count, i;

	pieces = output_pieces(output, &count);
	for (i = 0; i < count; i++) {
		memcpy(text + len, pieces[i].iov_base, pieces[i].iov_len);
		len += pieces[i].iov_len;
	}
	return len;
}

static int pieces_of(const struct output *output)
{
	int count;

	output_pieces(output, &count);
	return count;
}

/* Commits @len bytes of a letter at the end of @size bytes that were reserved. */
static void commit(struct output *output, char *space, size_t size, size_t len, char letter)
{
	memset(space + size - len, letter, len);
	if (!output_commit(output, space + size - len, len))
		bail_out("no memory");
}

static void test_order(void)
{
	char *space[3], text[16];
	struct output output;

	output_begin(&output, &pool);
	space[0] = output_reserve(&output, 100);
	space[1] = output_reserve(&output, 100);
	space[2] = output_reserve(&output, 100);
	commit(&output, space[0], 100, 3, 'a');
	commit(&output, space[1], 100, 2, 'b');
	commit(&output, space[2], 100, 4, 'c');
	is_int(pieces_of(&output), 1, "short replies are one piece");
	ok(flatten(&output, text) == 9 && !memcmp(text, "aaabbcccc", 9),
	   "replies are sent in the order of their commits");
	output_sent(&output, 4);
	ok(flatten(&output, text) == 5 && !memcmp(text, "bcccc", 5),
	   "bytes that were sent are not sent again");
	output_text(&output, "END", 3);
	ok(flatten(&output, text) == 8 && !memcmp(text, "bccccEND", 8),
	   "a reply follows one of which a part was sent");
	output_sent(&output, 8);
	ok(output_is_empty(&output), "an output is empty when all was sent");
	output_end(&output);
}

static void test_long(void)
{
	struct output output;
	char *space, *next;

	output_begin(&output, &pool);
	space = output_reserve(&output, 2 * MOVED);
	next = output_reserve(&output, 2 * MOVED);
	commit(&output, space, 2 * MOVED, 10, 'a');
	commit(&output, next, 2 * MOVED, MOVED + 1, 'b');
	is_int(pieces_of(&output), 2, "a long reply is a piece of its own");
	commit(&output, output_reserve(&output, 1), 1, 1, 'c');
	is_int(pieces_of(&output), 2, "a reply right behind another one is the same piece");
	output_end(&output);
}

/* Blocks may lie close to each other: they are no chunk. */
static void test_large(void)
{
	char text[16];
	struct output output;
	size_t held;

	output_begin(&output, &pool);
	output_text(&output, "a", 1);
	held = output.held;
	commit(&output, output_reserve_large(&output, 4), 4, 4, 'b');
	commit(&output, output_reserve_large(&output, 4), 4, 4, 'c');
	output_text(&output, "d", 1);
	is_int(pieces_of(&output), 4, "what is in a block of its own is a piece of its own");
	ok(flatten(&output, text) == 10 && !memcmp(text, "abbbbccccd", 10),
	   "blocks are sent in the order of their commits");
	output_sent(&output, 5);
	ok(output.held > held, "a block is kept until it was sent");
	output_sent(&output, 4);
	is_int(output.held, held, "a block is freed when it was sent");
	output_reserve(&output, LARGE);
	ok(output.held > held + LARGE, "a reservation larger than a chunk is a block");
	output_sent(&output, 1);
	output_reset(&output);
	is_int(output.held, held, "a block that was not committed is freed by a reset");
	output_end(&output);
}

static void test_many(void)
{
	char *all = malloc(2 * CHUNK);
	struct output output;
	size_t i, count = CHUNK / 100 + 10, wrong = 0;

	output_begin(&output, &pool);
	for (i = 0; i < count; i++)
		commit(&output, output_reserve(&output, 100), 100, 60, 'a' + i % 26);
	is_int(pieces_of(&output), 2, "replies of two chunks are two pieces");
	if (flatten(&output, all) != count * 60)
		wrong++;
	for (i = 0; i < count * 60; i++)
		wrong += all[i] != (char)('a' + i / 60 % 26);
	is_int(wrong, 0, "replies of two chunks are sent in their order");
	output_sent(&output, count * 60);
	output_reset(&output);
	is_int(output.held, CHUNK, "a reset keeps one chunk");
	is_int(pool.count, 1, "a reset gives the other chunks to the pool");
	output_end(&output);
	is_int(pool.count, 2, "the end of an output gives its chunks to the pool");
	chunk_pool_empty(&pool);
	is_int(pool.count, 0, "an emptied pool has no chunks");
	free(all);
}

int main(void)
{
	test_order();
	test_long();
	test_large();
	chunk_pool_empty(&pool);
	test_many();
	return done_testing();
}
