// SPDX-License-Identifier: GPL-2.0-only
/* metrics_test - figures are written in Prometheus' text form, as a whole. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../device/tap.h"
#include "metrics.h"

static const struct metrics figures = {
	.belt = "a\"b\\c\nd", .engine = "redis", .is_following = true, .is_replica = true,
	.has_belt = true, .since = 1700000000, .delay = 0.000125, .told = 1234567890123,
	.unfit = 1, .removed = 2, .clears = 3, .losses = 4,
};

static const char * const values[] = {
	"state 1", "replica 1", "belt 1", "since_seconds 1700000000", "delay_seconds 0.000125",
	"keys_total 1234567890123", "keys_unfit_total 1", "keys_removed_total 2", "clears_total 3",
	"losses_total 4",
};

static char text[8192];

static void read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[len] = '\0';
	if (file)
		fclose(file);
}

static void test_text(const char *path)
{
	char sample[256], name[64];
	size_t i;

	is_int(metrics_write(&figures, path), 0, "figures are written");
	read_text(path);
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(values[i], " "), values[i]);
		snprintf(sample, sizeof(sample),
			 "\nhbfollow_%s{belt=\"a\\\"b\\\\c\\nd\",engine=\"redis\"} %s\n", name,
			 values[i] + strlen(name) + 1);
		ok(strstr(text, sample), "the sample of %s has its labels and its value", name);
		snprintf(sample, sizeof(sample), "# TYPE hbfollow_%s %s\n", name,
			 strstr(name, "_total") ? "counter" : "gauge");
		ok(strstr(text, sample), "%s has its type", name);
	}
}

static void test_files(const char *directory, const char *path)
{
	char other[128];
	struct stat found;

	umask(077);
	metrics_write(&figures, path);
	ok(!stat(path, &found) && (found.st_mode & 0777) == 0644,
	   "all users may read the figures, whatever the umask");
	snprintf(other, sizeof(other), "%s.new", path);
	ok(stat(other, &found) && errno == ENOENT, "no other file is left");
	snprintf(other, sizeof(other), "%s/none/x", directory);
	is_int(metrics_write(&figures, other), -ENOENT,
	       "a directory that is not there is an error");
	snprintf(other, sizeof(other), "%s/d", directory);
	mkdir(other, 0700);
	is_int(metrics_write(&figures, other), -EISDIR, "a directory is not replaced");
	rmdir(other);
	is_int(metrics_write(&figures, "/dev/full/x"), -ENOTDIR, "a file is no directory");
}

int main(void)
{
	char directory[] = "/tmp/metrics.XXXXXX", path[64];

	if (!mkdtemp(directory))
		bail_out("cannot make a directory");
	snprintf(path, sizeof(path), "%s/figures", directory);
	test_text(path);
	test_files(directory, path);
	unlink(path);
	rmdir(directory);
	return done_testing();
}
