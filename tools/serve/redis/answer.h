/* SPDX-License-Identifier: GPL-2.0-only */
/* Replies of the protocol of Redis, for RESP 2 and RESP 3. */
#ifndef HBSERVE_ANSWER_H
#define HBSERVE_ANSWER_H

#include "session.h"

/* Space for a number, a head, or a short status. */
#define ANSWER_SHORT	32

/* Space before a value. */
#define ANSWER_HEAD	16

/* Errors that several commands have. */
#define ERROR_SYNTAX	"-ERR syntax error"
#define ERROR_INTEGER	"-ERR value is not an integer or out of range"
#define ERROR_KEY	"-ERR a key of a belt has 1 to 1024 bytes"

/**
 * struct answer - a reply of several parts, which is written at once
 * @work:	the work, without replies that wait for their operations
 * @version:	2 or 3
 * @ok:		false: there was no memory
 */
struct answer {
	struct work *work;
	uint8_t version;
	bool ok;
};

struct answer answer_begin(struct work *work);
void answer_line(struct answer *answer, const char *line);
void answer_number(struct answer *answer, char type, int64_t number);
void answer_bulk(struct answer *answer, const char *bytes, size_t len);
void answer_text(struct answer *answer, const char *text);
void answer_map(struct answer *answer, unsigned int pairs);
void answer_nil(struct answer *answer);
enum started answer_end(const struct answer *answer);
enum started answer_error(struct work *work, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
enum started answer_one(struct work *work, const char *line);
enum started answer_integer(struct work *work, int64_t number);
enum started answer_failure(struct work *work, struct belt *belt, int err);

void redis_reason(struct belt *belt, int err, char *text);
bool redis_commit(struct work *work, const struct reply *reply, const char *line);
bool redis_commit_number(struct work *work, const struct reply *reply, char type, int64_t number);
bool redis_commit_nil(struct work *work, const struct reply *reply);
bool redis_commit_failure(struct work *work, int err);
bool redis_commit_total(struct work *work, const struct reply *reply, const char *line);
bool redis_commit_value(struct work *work, const struct reply *reply);
char *redis_head_before(char *end, char type, uint64_t number);
char *redis_number(char *to, char type, int64_t number);

#endif /* HBSERVE_ANSWER_H */
