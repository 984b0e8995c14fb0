// SPDX-License-Identifier: GPL-2.0-only
/* Figures in Prometheus' text form: written to another file, which takes the place of the last. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array_size.h"
#include "metrics.h"

/* The value of a label: quotes, backslashes and line ends are escaped. */
static void print_label(FILE *file, const char *name, const char *value)
{
	fprintf(file, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n') {
			fputs("\\n", file);
			continue;
		}
		if (*value == '"' || *value == '\\')
			fputc('\\', file);
		fputc(*value, file);
	}
	fputc('"', file);
}

static void print_family(FILE *file, const struct metrics *metrics, const char *name,
			 const char *type, const char *help, double value)
{
	fprintf(file, "# HELP hbfollow_%s %s\n# TYPE hbfollow_%s %s\nhbfollow_%s{", name, help,
		name, type, name);
	print_label(file, "belt", metrics->belt);
	fputc(',', file);
	print_label(file, "engine", metrics->engine);
	fprintf(file, "} %.15g\n", value);
}

static void print(FILE *file, const struct metrics *metrics)
{
	const struct {
		const char *name;
		const char *type;
		const char *help;
		double value;
	} families[] = {
		{ "state", "gauge", "1: each change in the engine is told; 0: it is lost.",
		  metrics->is_following },
		{ "replica", "gauge", "1: the server that is followed, or was last, is a replica.",
		  metrics->is_replica },
		{ "belt", "gauge", "1: there is a belt of that name.", metrics->has_belt },
		{ "since_seconds", "gauge", "Unix time at which the state began.",
		  metrics->since },
		{ "delay_seconds", "gauge", "Time of the last answer, which came behind changes.",
		  metrics->delay },
		{ "keys_total", "counter", "Keys whose change was told.", metrics->told },
		{ "keys_unfit_total", "counter", "Of these, keys that no belt can have.",
		  metrics->unfit },
		{ "keys_removed_total", "counter", "Entries removed by their keys.",
		  metrics->removed },
		{ "clears_total", "counter", "Times that the belt was cleared.",
		  metrics->clears },
		{ "losses_total", "counter", "Times that the engine was lost.",
		  metrics->losses },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(families); i++)
		print_family(file, metrics, families[i].name, families[i].type, families[i].help,
			     families[i].value);
}

/**
 * metrics_write() - write the figures
 * @metrics:	the figures
 * @path:	the file, which all users may read; a reader finds the last figures or these
 *
 * Return: 0 or a negative errno.
 */
int metrics_write(const struct metrics *metrics, const char *path)
{
	char other[4096];
	FILE *file = NULL;
	int fd, err;

	if (snprintf(other, sizeof(other), "%s.new", path) >= (int)sizeof(other))
		return -ENAMETOOLONG;
	/* Others may have put a pipe or a link there. */
	unlink(other);
	fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd >= 0) {
		/* The unit's umask takes the right of others away. */
		fchmod(fd, 0644);
		file = fdopen(fd, "w");
	}
	if (!file) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	print(file, metrics);
	err = ferror(file) ? -EIO : 0;
	if (fclose(file) || err || rename(other, path)) {
		err = err ? err : -errno;
		unlink(other);
	}
	return err;
}
