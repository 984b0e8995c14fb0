/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads of hbserve: one that accepts clients, and workers that serve them. */
#ifndef HBSERVE_LOOP_H
#define HBSERVE_LOOP_H

struct auth;
struct listener;
struct loop;
struct options;
struct tls_context;

/**
 * struct loop_setup - the parts of the server that a loop uses
 * @options:	the command line
 * @auth:	users and passwords; NULL for none
 * @tls:	encryption; NULL for none
 * @listeners:	where clients come from
 * @count:	their number
 */
struct loop_setup {
	const struct options *options;
	const struct auth *auth;
	struct tls_context *tls;
	const struct listener *listeners;
	unsigned int count;
};

int loop_open(const struct loop_setup *setup, struct loop **loop);
int loop_run(struct loop *loop);
void loop_close(struct loop *loop);

#endif /* HBSERVE_LOOP_H */
