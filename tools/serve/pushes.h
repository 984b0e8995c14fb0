/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages for a client that no request of it asks for, until its socket takes them. */
#ifndef HBSERVE_PUSHES_H
#define HBSERVE_PUSHES_H

#include <stdbool.h>
#include <stddef.h>

/* Messages that a client has not taken, bytes: the hard limit of Redis for its subscribers. */
#define PUSHES_MAX	((size_t)32 * 1024 * 1024)

/* Memory for those of all clients, bytes. A client that takes little is served above it as well. */
#define PUSHES_ALL_MAX	((size_t)256 * 1024 * 1024)
#define PUSHES_LITTLE	((size_t)64 * 1024)

/**
 * struct pushes - messages for a client, whole but for a part of the first one that was sent
 * @bytes:	memory; NULL for none
 * @size:	its size
 * @at:		bytes of it that were sent
 * @len:	end of the messages
 */
struct pushes {
	char *bytes;
	size_t size;
	size_t at;
	size_t len;
};

bool pushes_add(struct pushes *pushes, const char *bytes, size_t len);
void pushes_sent(struct pushes *pushes, size_t len);
void pushes_end(struct pushes *pushes);

static inline bool pushes_are_none(const struct pushes *pushes)
{
	return pushes->at == pushes->len;
}

#endif /* HBSERVE_PUSHES_H */
