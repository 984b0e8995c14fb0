/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of hbfollow. */
#ifndef HBFOLLOW_OPTIONS_H
#define HBFOLLOW_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "keys.h"
#include "target.h"

/**
 * struct options - the command line. Texts are those of argv
 * @belt:	the belt
 * @target:	the engine
 * @keys:	how keys are named
 * @channels:	PostgreSQL: the channels to listen on
 * @channel_count: their number
 * @user:	the user of the engine; NULL: that of the URL, or the default one
 * @password_file: file whose first line is the password; NULL for none
 * @tls_ca:	Redis: certificates that sign the server's; NULL: those of the system
 * @tls_cert:	Redis: the certificate of hbfollow; NULL for none
 * @tls_key:	Redis: its private key
 * @replica:	Redis: a replica is followed, too
 * @detect_ms:	a connection without an answer for so long is lost, milliseconds
 * @offline_ms:	time between two clears while the engine is lost, milliseconds
 * @metrics:	file of figures for Prometheus; NULL for none
 * @verbose:	0 logs trouble, 1 connections as well, 2 keys as well
 */
struct options {
	const char *belt;
	struct target target;
	struct keys keys;
	const char **channels;
	size_t channel_count;
	const char *user;
	const char *password_file;
	const char *tls_ca;
	const char *tls_cert;
	const char *tls_key;
	bool replica;
	unsigned int detect_ms;
	unsigned int offline_ms;
	const char *metrics;
	int verbose;
};

int options_parse(int argc, char **argv, struct options *options);
void options_free(struct options *options);

#endif /* HBFOLLOW_OPTIONS_H */
