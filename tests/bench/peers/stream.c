// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "peer.h"
#include "stream.h"

/* A server that was just started may take so many milliseconds until it listens. */
#define PATIENCE	20000

void stream_open(struct stream *stream, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	stream->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (stream->fd < 0)
		die("socket", strerror(errno));
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	for (int left = PATIENCE; connect(stream->fd, (void *)&address, sizeof(address)); left--) {
		if (!left)
			die(path, strerror(errno));
		usleep(1000);
	}
	stream->begin = 0;
	stream->end = 0;
}

void stream_send(struct stream *stream, struct iovec *parts, int count)
{
	while (count) {
		ssize_t done = writev(stream->fd, parts, count);

		if (done < 0)
			die("send", strerror(errno));
		while (count && (size_t)done >= parts->iov_len) {
			done -= parts->iov_len;
			parts++;
			count--;
		}
		if (count) {
			parts->iov_base = (char *)parts->iov_base + done;
			parts->iov_len -= done;
		}
	}
}

static void receive(struct stream *stream)
{
	ssize_t got;

	if (stream->begin) {
		memmove(stream->buffer, stream->buffer + stream->begin,
			stream->end - stream->begin);
		stream->end -= stream->begin;
		stream->begin = 0;
	}
	got = read(stream->fd, stream->buffer + stream->end, sizeof(stream->buffer) - stream->end);
	if (got <= 0)
		die("receive", got ? strerror(errno) : "the server has closed the connection");
	stream->end += got;
}

/* The next line without its end. Valid until the next call. */
const char *stream_line(struct stream *stream)
{
	char *line, *end;

	for (;;) {
		line = stream->buffer + stream->begin;
		end = memmem(line, stream->end - stream->begin, "\r\n", 2);
		if (end)
			break;
		if (stream->begin == 0 && stream->end == sizeof(stream->buffer))
			die("receive", "a line is too long");
		receive(stream);
	}
	*end = '\0';
	stream->begin = end + 2 - stream->buffer;
	return line;
}

/* Reads a value of so many bytes, and the end of the line behind it. */
void stream_skip(struct stream *stream, size_t bytes)
{
	bytes += 2;
	for (;;) {
		size_t part = stream->end - stream->begin;

		if (part > bytes)
			part = bytes;
		stream->begin += part;
		bytes -= part;
		if (!bytes)
			return;
		receive(stream);
	}
}
