/* SPDX-License-Identifier: GPL-2.0-only */
/* Replies, out of the results of operations. */
#ifndef HBSERVE_REPLY_H
#define HBSERVE_REPLY_H

#include "batch.h"
#include "parser.h"

/* Space for a short reply. */
#define REPLY_SHORT	16

/* The beginning of a failure, before its reason. */
#define REPLY_FAILED	"SERVER_ERROR "

/* Space before the value of a get: its line, but for the key. */
#define REPLY_HEAD	56

/* The answers to a store, of meta commands and of the others. */
struct outcome {
	const char *code;
	const char *text;
};

/**
 * struct meta - what the flags of a meta command may ask for
 * @version:	of the entry
 * @ttl_ms:	its time left
 * @flags:	client flags
 * @value_len:	length of the value
 */
struct meta {
	uint64_t version;
	uint64_t ttl_ms;
	uint32_t flags;
	size_t value_len;
};

bool reply_text(struct work *work, const struct reply *reply);
bool reply_lost(struct work *work, const struct reply *reply);
bool reply_get(struct work *work, const struct reply *reply);
bool reply_store(struct work *work, const struct reply *reply);
bool reply_delete(struct work *work, const struct reply *reply);
bool reply_touch(struct work *work, const struct reply *reply);
bool reply_meta_get(struct work *work, const struct reply *reply);
bool reply_meta_touch(struct work *work, const struct reply *reply);
bool reply_meta_delete(struct work *work, const struct reply *reply);
bool reply_meta_debug(struct work *work, const struct reply *reply);

bool reply_has_value(const struct request *request, uint64_t version);
bool reply_time_first(const struct request *request);
size_t reply_meta_space(const struct request *request);
char *reply_number(char *to, uint64_t number);
char *reply_flags(char *to, const struct request *request, const char *which,
		  const struct meta *meta);
bool reply_failure(struct work *work, struct belt *belt, int err);
void reply_note_get(struct service *service, const struct request *request, bool is_hit);
const struct outcome *reply_stored(struct service *service, const struct request *request,
				   int result);

#endif /* HBSERVE_REPLY_H */
