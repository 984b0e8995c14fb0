/* SPDX-License-Identifier: GPL-2.0-only */
/* The engine that hbfollow follows, as a URL names it. */
#ifndef HBFOLLOW_TARGET_H
#define HBFOLLOW_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/* Space for each text of target_parse(), bytes. */
#define TARGET_PROBLEM_SIZE	256

enum target_kind {
	TARGET_REDIS,
	TARGET_POSTGRESQL,
};

/* A text that may have zero bytes. */
struct target_prefix {
	char *bytes;
	size_t len;
};

/**
 * struct target - an engine
 * @kind:	the kind of engine
 * @tls:	Redis: encrypted
 * @user:	Redis: the user; NULL: the default one
 * @host:	Redis: name or address; NULL with @path
 * @port:	Redis: the port
 * @path:	Redis: path of a unix socket; NULL with @host
 * @prefixes:	Redis: the prefixes of the keys to follow
 * @prefix_count: their number; 0 stands for all keys
 * @conninfo:	PostgreSQL: the URL or the parameters, for libpq
 */
struct target {
	enum target_kind kind;
	bool tls;
	char *user;
	char *host;
	char *port;
	char *path;
	struct target_prefix *prefixes;
	size_t prefix_count;
	const char *conninfo;
};

bool target_parse(struct target *target, const char *url, char *problem);
void target_free(struct target *target);

#endif /* HBFOLLOW_TARGET_H */
