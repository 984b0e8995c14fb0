// SPDX-License-Identifier: GPL-2.0-only
/*
 * hbfollow - remove from a belt of hashbelt the keys that change in Redis or PostgreSQL.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "background.h"
#include "follower.h"
#include "init_process.h"
#include "log.h"
#include "options.h"
#include "password.h"
#include "postgresql.h"
#include "redis.h"
#include "status.h"

static const struct engine_ops *engine_of(const struct target *target)
{
	return target->kind == TARGET_REDIS ? &redis_ops : &postgresql_ops;
}

/* A file that cannot be used is reported now, not when the engine asks for the password. */
static bool check_password(const struct options *options)
{
	char password[PASSWORD_MAX], problem[PASSWORD_PROBLEM_SIZE];

	if (!options->password_file)
		return true;
	if (password_read(options->password_file, password, problem)) {
		explicit_bzero(password, sizeof(password));
		return true;
	}
	log_line(LOG_TROUBLE, "%s", problem);
	return false;
}

int main(int argc, char **argv)
{
	struct options options;
	int status;

	init_process_begin();
	status = options_parse(argc, argv, &options);
	if (!status) {
		signal(SIGPIPE, SIG_IGN);
		log_begin("hbfollow", options.verbose);
		status = 1 + (check_password(&options) ?
			      exit_status(follower_run(&options, engine_of(&options.target))) :
			      EXIT_FAILURE);
	}
	options_free(&options);
	if (background_any())
		_exit(status - 1);
	return status - 1;
}
