/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of hbserve. */
#ifndef HBSERVE_OPTIONS_H
#define HBSERVE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Numbers of databases, from 0. */
#define DATABASES_MAX	16

/* The protocol that clients speak. */
enum protocol_kind {
	PROTOCOL_MEMCACHED,
	PROTOCOL_REDIS,
};

/**
 * struct options - the command line. Texts are those of argv
 * @socket:	path of a unix socket to make; NULL for none
 * @mode:	its mode
 * @group:	its group, a name or a number; NULL for that of the process
 * @address:	addresses for TCP, separated by commas; NULL for none
 * @port:	the port of those that name none; 0 lets the kernel choose
 * @protocol:	the protocol of all listeners
 * @belt:	the belt of keys without a prefix, and of database 0
 * @databases:	the belts of further databases; NULL for none
 * @belts_by_prefix: a key NAME:KEY is KEY in belt NAME
 * @threads:	number of worker threads
 * @connections: most clients at a time
 * @idle_seconds: a client that sends nothing for so long is closed; 0 for never
 * @item_max:	longest value, bytes
 * @verbose:	0 logs trouble, 1 connections as well, 2 requests as well
 * @list_commands: print the commands of the protocol of Redis, and do nothing else
 * @shutdown:	a client may end the server
 * @dump:	a client may list keys
 * @auth_file:	users and passwords, without which no client is served; NULL for none
 * @tls:	TCP is encrypted
 * @tls_cert:	file of the certificate, with those up to the root
 * @tls_key:	file of its private key
 * @tls_ca:	file of the certificates that sign those of clients; NULL: clients have none
 * @tls_verify:	refuse clients without a certificate
 */
struct options {
	const char *socket;
	mode_t mode;
	const char *group;
	const char *address;
	unsigned int port;
	enum protocol_kind protocol;
	const char *belt;
	const char *databases[DATABASES_MAX];
	bool belts_by_prefix;
	unsigned int threads;
	unsigned int connections;
	unsigned int idle_seconds;
	size_t item_max;
	int verbose;
	bool list_commands;
	bool shutdown;
	bool dump;
	const char *auth_file;
	bool tls;
	const char *tls_cert;
	const char *tls_key;
	const char *tls_ca;
	bool tls_verify;
};

int options_parse(int argc, char **argv, struct options *options);

#endif /* HBSERVE_OPTIONS_H */
