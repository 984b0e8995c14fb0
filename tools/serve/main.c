// SPDX-License-Identifier: GPL-2.0-only
/*
 * hbserve - serve the belts of hashbelt by the protocol of memcached, or by that of Redis.
 */
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

#include "auth.h"
#include "belts.h"
#include "init_process.h"
#include "listen.h"
#include "log.h"
#include "loop.h"
#include "options.h"
#include "protocol.h"
#include "redis/commands.h"
#include "status.h"
#include "tls.h"

/* Sockets to listen on. */
#define LISTENERS_MAX	64

/* Descriptors beside those of clients: of each worker, and of all. */
#define FILES_OF_WORKER	(72 + DATABASES_MAX)
#define FILES_OF_ALL	(LISTENERS_MAX + DATABASES_MAX + 32)

/* Memory of larger values goes back to the system at once, bytes. By default that limit grows. */
#define MAPPED_MIN	(256 * 1024)

/* Raises the limit of descriptors, so that all clients that are allowed have room. */
static void raise_limit(const struct options *options)
{
	rlim_t need = options->connections + options->threads * FILES_OF_WORKER + FILES_OF_ALL;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = need;
	if (limit.rlim_max < need)
		limit.rlim_max = need;
	if (!setrlimit(RLIMIT_NOFILE, &limit) || getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < options->connections)
		log_line(LOG_TROUBLE,
			 "room for %llu descriptors, not for %u clients: see ulimit -n",
			 (unsigned long long)limit.rlim_cur, options->connections);
}

/* Serves until a signal comes. */
static int serve(const struct loop_setup *setup)
{
	struct loop *loop;
	int err = loop_open(setup, &loop);

	if (!err) {
		sd_notify(0, "READY=1");
		err = loop_run(loop);
		sd_notify(0, "STOPPING=1");
	}
	loop_close(loop);
	return err;
}

static int open_and_serve(const struct options *options, struct listener *listeners, int count)
{
	static const struct protocol * const protocols[] = {
		[PROTOCOL_MEMCACHED] = &protocol_memcached,
		[PROTOCOL_REDIS] = &protocol_redis,
	};
	struct loop_setup setup = {
		.options = options, .listeners = listeners, .count = count,
	};
	struct auth *auth = NULL;
	int err = 0, i;

	for (i = 0; i < count; i++)
		listeners[i].protocol = protocols[options->protocol];
	if (options->auth_file)
		err = auth_load(options->auth_file, &auth);
	setup.auth = auth;
	if (!err && options->tls)
		err = tls_open(options, &setup.tls);
	if (!err)
		err = serve(&setup);
	if (setup.tls)
		tls_close(setup.tls);
	auth_free(auth);
	return err;
}

int main(int argc, char **argv)
{
	struct listener listeners[LISTENERS_MAX];
	struct options options;
	int status, count, err;

	init_process_begin();
	status = options_parse(argc, argv, &options);
	if (status)
		return status - 1;
	if (options.list_commands) {
		redis_print_commands();
		return EXIT_SUCCESS;
	}
	signal(SIGPIPE, SIG_IGN);
	mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
	log_begin("hbserve", options.verbose);
	raise_limit(&options);
	/* Before the sockets: the unit of systemd makes none without the device. */
	err = belts_check();
	if (err)
		return exit_status(err);
	count = listen_open(&options, listeners, LISTENERS_MAX);
	if (count < 0)
		return EXIT_FAILURE;
	err = open_and_serve(&options, listeners, count);
	listen_close(listeners, count);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
