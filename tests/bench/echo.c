// SPDX-License-Identifier: GPL-2.0-only
/*
 * echo - the least that a server takes for a request: it answers all of them with the same bytes.
 *
 *	echo SOCKET BYTES
 *
 * It waits and calls as hbserve does, and does nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "calls.h"
#include "poller.h"

static struct poller poller;
static struct source listener;
static char reply[4096];
static size_t reply_len;

static void on_message(struct source *client, uint32_t events)
{
	static char message[16 * 1024];

	(void)events;
	if (call_recv(client->fd, message, sizeof(message)) > 0 &&
	    call_send(client->fd, reply, reply_len) == (ssize_t)reply_len)
		return;
	poller_leave(&poller, client);
	close(client->fd);
	free(client);
}

static void on_client(struct source *source, uint32_t events)
{
	struct source *client = calloc(1, sizeof(*client));

	(void)events;
	if (!client)
		return;
	client->ready = on_message;
	client->fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	poller_wait(&poller, client, EPOLLIN | EPOLLRDHUP | EPOLLET);
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	reply_len = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	if (!reply_len || reply_len > sizeof(reply)) {
		fprintf(stderr, "usage: echo SOCKET BYTES\n");
		return 2;
	}
	memset(reply, 'e', reply_len);
	strncpy(address.sun_path, argv[1], sizeof(address.sun_path) - 1);
	listener.ready = on_client;
	listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener.fd, (void *)&address, sizeof(address)) || listen(listener.fd, 1) ||
	    !poller_open(&poller) || !poller_wait(&poller, &listener, EPOLLIN)) {
		perror("echo");
		return 1;
	}
	poller_run(&poller);
	return 0;
}
