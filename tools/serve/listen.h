/* SPDX-License-Identifier: GPL-2.0-only */
/* The sockets on which hbserve waits for clients. */
#ifndef HBSERVE_LISTEN_H
#define HBSERVE_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

struct options;
struct protocol;

/**
 * struct listener - a listening socket
 * @fd:		its descriptor: nonblocking, closed by execve()
 * @local:	only this machine can connect: a unix socket, or loopback
 * @tls:	clients encrypt
 * @auth:	clients have to name a user and the password first
 * @protocol:	the protocol that clients speak; listen_open() leaves it NULL
 * @path:	of a unix socket that listen_open() has made; NULL for others
 * @device:	with @inode, the identity of that socket's file
 * @inode:	of that file as well
 */
struct listener {
	int fd;
	bool local;
	bool tls;
	bool auth;
	const struct protocol *protocol;
	const char *path;
	dev_t device;
	ino_t inode;
};

int listen_open(const struct options *options, struct listener *list, unsigned int most);
void listen_close(struct listener *list, unsigned int count);

#endif /* HBSERVE_LISTEN_H */
