// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients that speak memcached's binary protocol, which are refused. Each request is answered by
 * an error: some clients wait for ever for a reply, also if the connection is closed.
 */
#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "binary.h"

#define REPLY		0x81
#define UNKNOWN_COMMAND	0x81

#define TEXT		"hbserve speaks the text protocol only"

/* Requests after which the client expects that the connection is closed. */
#define QUIT		0x07
#define QUIT_QUIETLY	0x17

/* The beginning of a request or a reply. Numbers are big-endian. */
struct header {
	uint8_t magic;
	uint8_t command;
	uint16_t key_len;
	uint8_t extra_len;
	uint8_t type;
	uint16_t status;	/* of a request: a partition, which is not used */
	uint32_t body_len;
	uint32_t opaque;
	uint64_t version;
};

_Static_assert(sizeof(struct header) == 24, "a header has 24 bytes");

/* Writes the error. Return: false if there is no memory. */
static bool refuse(struct work *work, const struct header *request)
{
	struct {
		struct header header;
		char text[sizeof(TEXT) - 1];
	} reply = {
		.header = {
			.magic = REPLY,
			.command = request->command,
			.status = htobe16(UNKNOWN_COMMAND),
			.body_len = htobe32(sizeof(TEXT) - 1),
			.opaque = request->opaque,
		},
	};

	memcpy(reply.text, TEXT, sizeof(reply.text));
	return output_text(&work->output, (char *)&reply,
			   sizeof(reply.header) + sizeof(reply.text));
}

/* Drops what is left of a request. */
static void skip(struct work *work, struct client *client)
{
	size_t left = work->len - work->used;
	size_t size = client->skip < left ? client->skip : left;

	work->used += size;
	client->skip -= size;
}

/**
 * binary_run() - refuse the requests of a client that were read
 * @work:	the work, as for protocol_run()
 * @client:	the client
 *
 * Return: DONE_ALL, DONE_SOME, DONE_CLOSE or DONE_BROKEN.
 */
enum done binary_run(struct work *work, struct client *client)
{
	struct header request;

	for (;;) {
		skip(work, client);
		client->need = 0;
		if (client->skip || work->used == work->len)
			return DONE_ALL;
		if (work->len - work->used < sizeof(request)) {
			client->need = sizeof(request);
			return DONE_ALL;
		}
		if (work->output.held >= OUTPUT_MAX)
			return DONE_SOME;
		memcpy(&request, work->text + work->used, sizeof(request));
		if (request.magic != BINARY_REQUEST) {
			client->reason = "what it sends is no request of the binary protocol";
			return DONE_CLOSE;
		}
		work->used += sizeof(request);
		client->skip = be32toh(request.body_len);
		if (request.command != QUIT_QUIETLY && !refuse(work, &request))
			return DONE_BROKEN;
		if (request.command == QUIT || request.command == QUIT_QUIETLY)
			return DONE_CLOSE;
	}
}
