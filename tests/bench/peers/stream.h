/* SPDX-License-Identifier: GPL-2.0-only */
/* A connection to a server on this machine, whose protocol has lines and counted bytes. */
#ifndef _STREAM_H
#define _STREAM_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/**
 * struct stream - a connection
 * @fd:		the socket
 * @buffer:	received bytes
 * @begin:	of the part of it that was not used yet
 * @end:	of that part
 */
struct stream {
	int fd;
	char buffer[64 * 1024];
	size_t begin;
	size_t end;
};

void stream_open(struct stream *stream, const char *path);
void stream_send(struct stream *stream, struct iovec *parts, int count);
const char *stream_line(struct stream *stream);
void stream_skip(struct stream *stream, size_t bytes);

#endif /* _STREAM_H */
