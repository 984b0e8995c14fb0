// SPDX-License-Identifier: GPL-2.0-only
/*
 * The replies of a connection.
 *
 * A reply has its space reserved before its length is known, so there are gaps between replies. A
 * short reply is moved down to the end of the one before it, so that many replies are one piece.
 * That place is free: a reply is no longer than its space, and the replies before it were moved
 * first.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

/* Size of a chunk, bytes. */
#define CHUNK_SIZE	((size_t)64 * 1024)

/* Chunks that a worker keeps. */
#define POOL_MAX	8

/* A longer reply is not moved: a piece of its own costs less than the copy. */
#define MOVE_MAX	1024

/**
 * struct chunk - memory for replies
 * @next:	in its list
 * @size:	size of all of it
 * @data:	the memory
 */
struct chunk {
	struct chunk *next;
	size_t size;
	char data[];
};

static struct chunk *take_chunk(struct chunk_pool *pool)
{
	struct chunk *chunk = pool->first;

	if (chunk) {
		pool->first = chunk->next;
		pool->count--;
		return chunk;
	}
	chunk = malloc(CHUNK_SIZE);
	if (chunk)
		chunk->size = CHUNK_SIZE;
	return chunk;
}

static void give_chunk(struct chunk_pool *pool, struct chunk *chunk)
{
	if (pool->count == POOL_MAX) {
		free(chunk);
		return;
	}
	chunk->next = pool->first;
	pool->first = chunk;
	pool->count++;
}

/**
 * chunk_pool_empty() - free the chunks of a pool
 * @pool:	the pool
 */
void chunk_pool_empty(struct chunk_pool *pool)
{
	struct chunk *chunk;

	while ((chunk = pool->first)) {
		pool->first = chunk->next;
		free(chunk);
	}
	pool->count = 0;
}

/**
 * output_begin() - make an empty output
 * @output:	the output
 * @pool:	the pool of the worker to which it belongs
 */
void output_begin(struct output *output, struct chunk_pool *pool)
{
	memset(output, 0, sizeof(*output));
	output->pool = pool;
	output->large_end = &output->large;
}

/**
 * output_reserve_more() - reserve space for which the chunk has too little
 * @output:	the output
 * @size:	the size, bytes
 *
 * Return: the space; NULL if there is no memory.
 */
char *output_reserve_more(struct output *output, size_t size)
{
	struct chunk *chunk;

	if (size > CHUNK_SIZE - sizeof(*chunk))
		return output_reserve_large(output, size);
	chunk = take_chunk(output->pool);
	if (!chunk)
		return NULL;
	chunk->next = output->chunks;
	output->chunks = chunk;
	output->held += CHUNK_SIZE;
	output->free = chunk->data + size;
	output->free_end = (char *)chunk + CHUNK_SIZE;
	return chunk->data;
}

/**
 * output_reserve_large() - reserve space that is freed once it is sent
 * @output:	the output
 * @size:	the size, bytes
 *
 * It is freed by output_reset() if it is not committed.
 *
 * Return: the space; NULL if there is no memory.
 */
char *output_reserve_large(struct output *output, size_t size)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		return NULL;
	chunk->next = NULL;
	chunk->size = sizeof(*chunk) + size;
	*output->large_end = chunk;
	output->large_end = &chunk->next;
	output->held += chunk->size;
	return chunk->data;
}

static bool grow(struct output *output)
{
	unsigned int room = output->room ? 2 * output->room : 16;
	struct iovec *pieces = reallocarray(output->pieces, room, sizeof(*pieces));

	if (!pieces)
		return false;
	output->pieces = pieces;
	output->room = room;
	return true;
}

/* The end of the chunk that has the bytes at @from; NULL if they are in a large block. */
static char *chunk_end(const struct output *output, const char *from)
{
	struct chunk *chunk;

	for (chunk = output->chunks; chunk; chunk = chunk->next)
		if (from >= chunk->data && from < (char *)chunk + CHUNK_SIZE)
			return (char *)chunk + CHUNK_SIZE;
	return NULL;
}

/* Adds bytes to the last piece, if they follow it in its chunk, and are few or next to it. */
static bool join(struct output *output, char *from, size_t len)
{
	struct iovec *last;
	char *end;

	if (output_is_empty(output))
		return false;
	last = output->pieces + output->count - 1;
	end = (char *)last->iov_base + last->iov_len;
	if (from < end || from >= output->last_limit || (from != end && len > MOVE_MAX))
		return false;
	if (from != end)
		memmove(end, from, len);
	last->iov_len += len;
	return true;
}

/**
 * output_commit() - queue reserved bytes for sending
 * @output:	the output
 * @from:	the bytes, in space that was reserved. Calls come in the order of the reservations
 * @len:	their number, at most the size that was reserved
 *
 * Return: false if there is no memory.
 */
bool output_commit(struct output *output, char *from, size_t len)
{
	if (!len || join(output, from, len))
		return true;
	if (output->count == output->room && !grow(output))
		return false;
	output->pieces[output->count++] = (struct iovec){ from, len };
	output->last_limit = chunk_end(output, from);
	return true;
}

/**
 * output_text() - queue a copy of a text for sending
 * @output:	the output, in which all reserved space was committed or given up
 * @text:	the text
 * @len:	its length
 *
 * Return: false if there is no memory.
 */
bool output_text(struct output *output, const char *text, size_t len)
{
	char *space = output_reserve(output, len);

	if (!space)
		return false;
	memcpy(space, text, len);
	return output_commit(output, space, len);
}

/**
 * output_pieces() - the bytes that are to be sent next
 * @output:	the output
 * @count:	returned: the number of pieces, at most IOV_MAX
 *
 * Return: the pieces, valid until the output is changed.
 */
const struct iovec *output_pieces(const struct output *output, int *count)
{
	unsigned int left = output->count - output->first;

	*count = left < IOV_MAX ? left : IOV_MAX;
	return output->pieces + output->first;
}

/* Frees the first large block if the piece is in it. */
static void free_large(struct output *output, const struct iovec *piece)
{
	struct chunk *chunk = output->large;

	if (!chunk || (char *)piece->iov_base < chunk->data ||
	    (char *)piece->iov_base >= (char *)chunk + chunk->size)
		return;
	output->large = chunk->next;
	if (!output->large)
		output->large_end = &output->large;
	output->held -= chunk->size;
	free(chunk);
}

/**
 * output_sent() - note that bytes were sent
 * @output:	the output
 * @len:	their number
 */
void output_sent(struct output *output, size_t len)
{
	struct iovec *piece;

	while (!output_is_empty(output)) {
		piece = &output->pieces[output->first];
		if (len < piece->iov_len) {
			piece->iov_base = (char *)piece->iov_base + len;
			piece->iov_len -= len;
			return;
		}
		len -= piece->iov_len;
		free_large(output, piece);
		output->first++;
	}
	output->first = 0;
	output->count = 0;
}

static void free_all_large(struct output *output)
{
	struct chunk *chunk;

	while ((chunk = output->large)) {
		output->large = chunk->next;
		output->held -= chunk->size;
		free(chunk);
	}
	output->large_end = &output->large;
}

/**
 * output_reset() - give up all space that is not committed
 * @output:	the output, with nothing left to send
 */
void output_reset(struct output *output)
{
	struct chunk *chunk = output->chunks;

	if (output->large)
		free_all_large(output);
	if (!chunk)
		return;
	/* It keeps one. */
	while (chunk->next) {
		output->chunks = chunk->next;
		give_chunk(output->pool, chunk);
		output->held -= CHUNK_SIZE;
		chunk = output->chunks;
	}
	output->free = chunk->data;
	output->free_end = (char *)chunk + CHUNK_SIZE;
}

/**
 * output_end() - free all memory of an output
 * @output:	the output
 */
void output_end(struct output *output)
{
	struct chunk *chunk;

	while ((chunk = output->chunks)) {
		output->chunks = chunk->next;
		give_chunk(output->pool, chunk);
	}
	free_all_large(output);
	free(output->pieces);
	output_begin(output, output->pool);
}
