// SPDX-License-Identifier: GPL-2.0-only
/* The requests of a client of any protocol, carried out and answered in order. */
#include "protocol.h"

/* Carries the batch out and writes its replies. Return: DONE_ALL if all were written. */
static enum done finish_batch(struct work *work)
{
	bool full;

	if (!work->is_done)
		batch_run(work);
	if (!batch_write(work, &full))
		return DONE_BROKEN;
	return full ? DONE_SOME : DONE_ALL;
}

/* Starts the request in progress. Return: DONE_ALL if it is. */
static enum done begin(struct work *work, struct client *client)
{
	enum started started;
	enum done done;

	for (;;) {
		started = client->protocol->start(work, client);
		if (started == NO_MEMORY)
			return DONE_BROKEN;
		if (started == STARTED)
			break;
		done = finish_batch(work);
		if (done != DONE_ALL)
			return done;
		if (work->yields) {
			work->yields = false;
			return DONE_SOME;
		}
		if (output_is_empty(&work->output))
			output_reset(&work->output);
		else if (work->output.held >= OUTPUT_MAX)
			return DONE_SOME;
	}
	work->is_pending = false;
	work->request = NULL;
	return DONE_ALL;
}

/* Takes the next request, after the batch where that has to be. */
static enum done take(struct work *work, struct client *client, enum parsed *parsed)
{
	enum done done = DONE_ALL;

	*parsed = client->protocol->take(work, client);
	if (*parsed == PARSED_LATER)
		done = finish_batch(work);
	work->is_pending = *parsed == PARSED_REQUEST;
	return done;
}

/**
 * protocol_run() - carry out the requests of a client that were read
 * @work:	the work: @text, @len and @used; returned: @used, and replies in @output. After
 *		DONE_SOME it is to be called with it again, once these are sent
 * @client:	the client
 *
 * Return: DONE_ALL, and a part of a request may be left; DONE_SOME; DONE_CLOSE; DONE_BROKEN.
 */
enum done protocol_run(struct work *work, struct client *client)
{
	enum parsed parsed = PARSED_REQUEST;
	enum done done = DONE_ALL;

	work->client = client;
	if (work->is_done)
		done = finish_batch(work);
	while (done == DONE_ALL && !client->is_over) {
		if (!work->is_pending)
			done = take(work, client, &parsed);
		if (parsed == PARSED_PART || parsed == PARSED_CLOSE)
			break;
		if (done == DONE_ALL && work->is_pending)
			done = begin(work, client);
	}
	if (done != DONE_ALL)
		return done;
	if (parsed == PARSED_CLOSE)
		client->is_over = true;
	done = finish_batch(work);
	return done == DONE_ALL && client->is_over ? DONE_CLOSE : done;
}
