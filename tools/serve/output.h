/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The replies of a connection. Space is reserved in chunks, for example for values that the kernel
 * copies there, and committed in the same order. Committed bytes are sent from where they are.
 */
#ifndef HBSERVE_OUTPUT_H
#define HBSERVE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct chunk;

/**
 * struct chunk_pool - unused chunks of a worker
 * @first:	one of them, or NULL
 * @count:	their number
 */
struct chunk_pool {
	struct chunk *first;
	unsigned int count;
};

/**
 * struct output - replies that are to be sent
 * @pool:	where its chunks come from
 * @chunks:	its chunks; the first is the one in which space is reserved
 * @free:	the space of that chunk that is not reserved
 * @free_end:	its end
 * @large:	blocks of one reservation each, in the order in which they are sent
 * @large_end:	where the next one is linked
 * @pieces:	committed bytes
 * @first:	the first piece that is not sent yet
 * @count:	the end of the pieces
 * @last_limit:	end of the chunk that has the last piece; NULL if that is in a large block
 * @room:	for how many pieces there is room
 * @held:	memory of the chunks and blocks, bytes
 */
struct output {
	struct chunk_pool *pool;
	struct chunk *chunks;
	char *free;
	char *free_end;
	struct chunk *large;
	struct chunk **large_end;
	struct iovec *pieces;
	char *last_limit;
	unsigned int first;
	unsigned int count;
	unsigned int room;
	size_t held;
};

void output_begin(struct output *output, struct chunk_pool *pool);
char *output_reserve_more(struct output *output, size_t size);
char *output_reserve_large(struct output *output, size_t size);
bool output_commit(struct output *output, char *from, size_t len);
bool output_text(struct output *output, const char *text, size_t len);
const struct iovec *output_pieces(const struct output *output, int *count);
void output_sent(struct output *output, size_t len);
void output_reset(struct output *output);
void output_end(struct output *output);
void chunk_pool_empty(struct chunk_pool *pool);

static inline bool output_is_empty(const struct output *output)
{
	return output->first == output->count;
}

/**
 * output_reserve() - reserve space for a reply
 * @output:	the output
 * @size:	the size, bytes
 *
 * The space stays until output_reset().
 *
 * Return: the space; NULL if there is no memory.
 */
static inline char *output_reserve(struct output *output, size_t size)
{
	char *space = output->free;

	/* Without a chunk both are NULL. */
	if (size >= (size_t)(output->free_end - space))
		return output_reserve_more(output, size);
	output->free = space + size;
	return space;
}

#endif /* HBSERVE_OUTPUT_H */
