// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checksum.h"
#include "encoding.h"
#include "saved.h"
#include "settings.h"
#include "walk.h"

/* The ends of the names of a file that is being written, and of one that is of no use. */
#define NEW_SUFFIX	SAVED_SUFFIX ".new"
#define ASIDE_SUFFIX	SAVED_SUFFIX ".aside"

/* Space for the name of a file, and for that of a boot. */
#define NAME_ROOM	(HASHBELT_NAME_SIZE + sizeof(ASIDE_SUFFIX))
#define BOOT_ROOM	40

/* The format of the last line, its longest form, and the digits of the checksum at its end. */
#define FORMAT		1
#define LAST_ROOM	512
#define SUM_DIGITS	10

#define BUFFER_SIZE	(64 * 1024)

/**
 * struct output - a file that is being written
 * @fd:		the file
 * @checksum:	of what was written
 * @err:	0, or the errno of the first write that failed
 * @file:	writes to it, and counts
 * @value:	of the entry that is written
 * @clock:	the time to which deadlines relate
 * @entries:	written so far
 */
struct output {
	int fd;
	struct checksum checksum;
	int err;
	FILE *file;
	struct value value;
	struct line_clock clock;
	__u64 entries;
};

static enum status fail_memory(void)
{
	return fail(STATUS_ERROR, "out of memory");
}

static enum status fail_file(const char *what, const struct saved_directory *directory,
			     const char *name, int err)
{
	bool full = err == ENOSPC || err == EDQUOT;

	fail_cause(err);
	return fail(STATUS_ERROR, "cannot %s %s/%s" SAVED_SUFFIX ": %s%s", what, directory->path,
		    name, strerror(err), full ? ": make room for a copy of the belt" : "");
}

/* The name of this boot; "-" if there is none. */
static void read_boot(char *boot)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	strcpy(boot, "-");
	if (!file)
		return;
	if (fscanf(file, "%36s", boot) != 1)
		strcpy(boot, "-");
	fclose(file);
}

/**
 * saved_begin() - open a directory of saved belts
 * @directory:	returned; closed when the program ends
 * @path:	its path, which must stay where it is
 *
 * Others must not be able to change its files: a belt would have what they write.
 *
 * Return: STATUS_DONE, or STATUS_ERROR after a line that says what is wrong.
 */
enum status saved_begin(struct saved_directory *directory, const char *path)
{
	struct stat stat;

	directory->path = path;
	directory->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory->fd < 0 || fstat(directory->fd, &stat)) {
		fail_cause(errno);
		return fail(STATUS_ERROR, "cannot open the directory %s: %s", path,
			    strerror(errno));
	}
	if ((stat.st_uid && stat.st_uid != geteuid()) || stat.st_mode & 022)
		return fail(STATUS_ERROR,
			    "others may write to the directory %s: 'chown root' and 'chmod 700' make it safe",
			    path);
	return STATUS_DONE;
}

/* Writes for the stream, and takes what is written into the checksum. */
static ssize_t write_summed(void *cookie, const char *bytes, size_t size)
{
	struct output *output = cookie;
	size_t left = size;
	ssize_t len;

	while (left && !output->err) {
		len = write(output->fd, bytes, left);
		if (len < 0 && errno != EINTR)
			output->err = errno;
		if (len < 0)
			continue;
		checksum_add(&output->checksum, bytes, len);
		bytes += len;
		left -= len;
	}
	return size - left;
}

static int write_entry(struct request *request, const struct hashbelt_record *record, void *arg)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_REFRESH };
	struct output *output = arg;
	__u64 now = line_now(&output->clock);
	int err;

	err = value_get(&output->value, request->handle, hashbelt_record_key(record),
			record->key_len, &item);
	if (err)
		return err == -ENOENT ? 0 : err;	/* it went meanwhile */
	/* A clock that is set back meanwhile gives no entry more time. */
	output->clock.floor = now;
	line_print(output->file, record, &output->value, &item, now);
	output->entries++;
	return 0;
}

static void write_last(struct output *output, const struct hashbelt_info *info)
{
	__u64 now = line_now(&output->clock);
	char boot[BOOT_ROOM];

	read_boot(boot);
	fprintf(output->file, SAVED_MARK "%d %llu.%03llu %llu %u %s %s ", FORMAT, now / 1000,
		now % 1000, output->entries, info->uid,
		info->state & HASHBELT_HALTED ? "halted" : "running", boot);
	escape_print(output->file, info->name, strnlen(info->name, sizeof(info->name)));
	putc(' ', output->file);
	fflush(output->file);
	fprintf(output->file, "%0*u\n", SUM_DIGITS, checksum_end(&output->checksum));
}

/* Writes the belt to the file of @output. An error of the file is in @output. */
static enum status write_belt(struct request *request, struct output *output,
			      const struct hashbelt_info *info)
{
	static const cookie_io_functions_t functions = { .write = write_summed };
	struct key all = { .bytes = "" };
	enum status status;

	output->clock.stands = info->state & HASHBELT_HALTED;
	output->clock.floor = output->clock.stands ? wall_ms() : 0;
	output->file = fopencookie(output, "w", functions);
	if (!output->file)
		return fail_memory();
	setvbuf(output->file, NULL, _IOFBF, BUFFER_SIZE);
	settings_print(output->file, info);
	status = walk(request, &all, output->file, write_entry, output);
	write_last(output, info);
	fclose(output->file);
	value_free(&output->value);
	if (!output->err && fsync(output->fd))
		output->err = errno;
	return status;
}

/* Gives the file its name. After a power failure the directory has the old file or the new one. */
static int publish(const struct saved_directory *directory, const char *from, const char *name)
{
	char to[NAME_ROOM];

	sprintf(to, "%s" SAVED_SUFFIX, name);
	if (renameat(directory->fd, from, directory->fd, to) || fsync(directory->fd))
		return errno;
	return 0;
}

/**
 * saved_write() - write the entries of the request's belt to a file
 * @request:	the request, bound to the belt
 * @directory:	where
 * @info:	the belt
 * @entries:	returned: their number
 *
 * The file of the belt that is there is replaced, unless there is an error.
 *
 * Return: STATUS_DONE, or another status after a line that says what is wrong.
 */
enum status saved_write(struct request *request, const struct saved_directory *directory,
			const struct hashbelt_info *info, __u64 *entries)
{
	struct output output = { 0 };
	enum status status;
	char name[NAME_ROOM];

	sprintf(name, "%s" NEW_SUFFIX, info->name);
	unlinkat(directory->fd, name, 0);
	output.fd = openat(directory->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (output.fd < 0)
		return fail_file("make", directory, info->name, errno);
	status = write_belt(request, &output, info);
	if (close(output.fd) && !output.err)
		output.err = errno;
	if (!status && !output.err)
		output.err = publish(directory, name, info->name);
	if (!status && output.err)
		status = fail_file("write", directory, info->name, output.err);
	if (status)
		unlinkat(directory->fd, name, 0);
	*entries = output.entries;
	return status;
}

/**
 * saved_remove() - remove the file of a belt, if there is one
 * @directory:	the directory
 * @name:	the belt
 *
 * Return: STATUS_DONE, or STATUS_ERROR after a line that says what is wrong.
 */
enum status saved_remove(const struct saved_directory *directory, const char *name)
{
	char file[NAME_ROOM];

	sprintf(file, "%s" SAVED_SUFFIX, name);
	if (unlinkat(directory->fd, file, 0))
		return errno == ENOENT ? STATUS_DONE :
					 fail_file("remove", directory, name, errno);
	/* After a power failure the entries must not come back: they are older than the belt. */
	return fsync(directory->fd) ? fail_file("remove", directory, name, errno) : STATUS_DONE;
}

/* Names the file so that it is not read again, and says why. */
static void set_aside(const struct saved_directory *directory, const char *name, const char *why)
{
	char from[NAME_ROOM], to[NAME_ROOM];

	sprintf(from, "%s" SAVED_SUFFIX, name);
	sprintf(to, "%s" ASIDE_SUFFIX, name);
	if (directory->keeps)
		fail(STATUS_DONE, "%s/%s %s", directory->path, from, why);
	else if (renameat(directory->fd, from, directory->fd, to))
		fail_file("set aside", directory, name, errno);
	else
		fail(STATUS_DONE,
		     "%s/%s %s: it is %s/%s now; 'hbctl -b BELT load' reads its lines up to a wrong one, 'rm' removes it",
		     directory->path, from, why, directory->path, to);
}

/* Checks the file before it is read. Return: what is wrong with it, or NULL. */
static const char *check_stat(int fd, off_t *size)
{
	struct stat stat;

	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode))
		return "is no file";
	if (stat.st_uid && stat.st_uid != geteuid())
		return "belongs to another user";
	if (stat.st_mode & 022)
		return "may be written to by others";
	*size = stat.st_size;
	return *size ? NULL : "is empty";
}

/* Reads the last line, without the newline. Return: what is wrong, or NULL. */
static const char *read_last(int fd, off_t *size, char *last)
{
	off_t from = *size < LAST_ROOM ? 0 : *size - LAST_ROOM + 1;
	ssize_t len = pread(fd, last, *size - from, from);
	char *line;

	if (len != *size - from)
		return "cannot be read";
	last[len] = '\0';
	if (last[len - 1] != '\n')
		return "is cut off";
	last[len - 1] = '\0';
	line = memrchr(last, '\n', len - 1);
	line = line ? line + 1 : last;
	if (strncmp(line, SAVED_MARK, strlen(SAVED_MARK)))
		return "is cut off, or no file of 'hbctl save'";
	len = last + len - 1 - line;
	memmove(last, line, len + 1);
	*size -= len + 1;
	return NULL;
}

/**
 * struct scan - the bytes of a file, as they are checked
 * @checksum:	of those so far
 * @lines:	complete ones
 * @line:	bytes of the present line
 * @longest:	bytes of the longest one
 */
struct scan {
	struct checksum checksum;
	__u64 lines;
	size_t line;
	size_t longest;
};

static void scan_bytes(struct scan *scan, const char *bytes, size_t len)
{
	const char *end = bytes + len, *newline;

	checksum_add(&scan->checksum, bytes, len);
	while ((newline = memchr(bytes, '\n', end - bytes))) {
		scan->lines++;
		scan->line += newline - bytes;
		scan->longest = scan->line > scan->longest ? scan->line : scan->longest;
		scan->line = 0;
		bytes = newline + 1;
	}
	scan->line += end - bytes;
}

/* Reads the first @size bytes. */
static const char *scan_file(int fd, off_t size, struct scan *scan)
{
	static char buffer[BUFFER_SIZE];
	ssize_t len;

	while (size) {
		len = read(fd, buffer, size < BUFFER_SIZE ? size : BUFFER_SIZE);
		if (len <= 0)
			return "cannot be read";
		scan_bytes(scan, buffer, len);
		size -= len;
	}
	return NULL;
}

/* Reads the fields of the last line. @text: behind the mark, and without the checksum. */
static const char *parse_last(char *text, const char *name, struct saved *saved)
{
	unsigned long long seconds;
	unsigned int format, thousandths;
	char state[8], boot[BOOT_ROOM], this_boot[BOOT_ROOM];
	ssize_t len;
	int at = 0;

	if (sscanf(text, "%u %12llu.%3u %llu %u %7s %36s%n", &format, &seconds, &thousandths,
		   &saved->entries, &saved->owner, state, boot, &at) != 7 || !at)
		return "has a last line of another form";
	/* One blank: more are the beginning of a name. */
	at += text[at] == ' ';
	len = unescape(text + at, strlen(text + at));
	if (len != (ssize_t)strlen(name) || memcmp(text + at, name, len))
		return "has another belt than its name says";
	read_boot(this_boot);
	saved->time_ms = seconds * 1000 + thousandths;
	saved->halted = !strcmp(state, "halted");
	saved->this_boot = *boot != '-' && !strcmp(boot, this_boot);
	return NULL;
}

/* Checks the whole of a file. Return: what is wrong, or NULL. */
static const char *check_file(int fd, const char *name, struct saved *saved)
{
	struct scan scan = { 0 };
	char last[LAST_ROOM], *sum;
	const char *wrong;
	off_t size = 0;

	wrong = check_stat(fd, &size);
	if (!wrong)
		wrong = read_last(fd, &size, last);
	if (!wrong && strtoul(last + strlen(SAVED_MARK), NULL, 10) != FORMAT)
		return "has a format that this hbctl does not know";
	if (!wrong)
		wrong = scan_file(fd, size, &scan);
	if (wrong)
		return wrong;
	sum = strrchr(last, ' ');
	checksum_add(&scan.checksum, last, sum + 1 - last);
	if (strlen(sum + 1) != SUM_DIGITS || strspn(sum + 1, "0123456789") != SUM_DIGITS ||
	    strtoul(sum + 1, NULL, 10) != checksum_end(&scan.checksum))
		return "is damaged: its checksum is wrong";
	*sum = '\0';
	wrong = parse_last(last + strlen(SAVED_MARK), name, saved);
	if (!wrong && saved->entries != scan.lines - 1)
		return "does not have as many entries as its last line says";
	if (!wrong && scan.longest > LINE_MAX_BYTES)
		return "has a line that is longer than an entry can be";
	return wrong;
}

/**
 * saved_open() - open the file of a belt, and check that it is whole
 * @directory:	the directory
 * @name:	the belt
 * @saved:	returned; without a file if there is none, and if the file was set aside, after a
 *		line that says so. Closed by saved_close()
 *
 * Return: STATUS_DONE, or STATUS_ERROR after a line that says what is wrong.
 */
enum status saved_open(const struct saved_directory *directory, const char *name,
		       struct saved *saved)
{
	char file[NAME_ROOM];
	const char *wrong;
	int fd;

	*saved = (struct saved){ 0 };
	sprintf(file, "%s" SAVED_SUFFIX, name);
	/* A pipe in the place of the file must not be waited for. */
	fd = openat(directory->fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return STATUS_DONE;
	if (fd < 0 && errno != ELOOP)
		return fail_file("open", directory, name, errno);
	wrong = fd < 0 ? "is a symbolic link" : check_file(fd, name, saved);
	if (wrong) {
		close(fd);
		set_aside(directory, name, wrong);
		return STATUS_DONE;
	}
	lseek(fd, 0, SEEK_SET);
	if (asprintf(&saved->path, "%s/%s", directory->path, file) >= 0)
		saved->file = fdopen(fd, "r");
	if (saved->file)
		return STATUS_DONE;
	close(fd);
	return fail_memory();
}

/* Another user may have made a belt of that name meanwhile: it must not get the entries. */
static enum status check_owner(struct request *request, const struct saved *saved)
{
	struct hashbelt_info info;
	int err = hashbelt_info(request->handle, &info);

	if (err)
		return fail_call(request, HASHBELT_CALL_INFO, err);
	if (info.uid != saved->owner)
		return fail(STATUS_ERROR,
			    "belt '%s' belongs to user %u, and its entries are those of user %u: destroy the belt",
			    request->belt, info.uid, saved->owner);
	return STATUS_DONE;
}

/* Puts the entries; says what there was no room for. */
static enum status load_file(struct load *load, struct saved_counts *counts)
{
	enum status status = load_lines(load, load_read(load));

	*counts = (struct saved_counts){
		.loaded = load->loaded,
		.kept = load->kept,
		.expired = load->expired,
		.refused = load->refused,
	};
	if (!status && load->refused)
		load_refused(load, STATUS_DONE);
	return status;
}

/**
 * saved_load() - put the entries of a file into the request's belt, and remove the file
 * @request:	the request, bound to the belt
 * @directory:	the directory of the file
 * @saved:	the file, from saved_open(); read from its beginning
 * @counts:	returned
 *
 * Entries that are in the belt already are newer, and stay. No entry has more time left than when
 * it was saved: a clock that stands before that counts as if it stood there. A file of which a line
 * is wrong is set aside, and so is one of another owner's belt.
 *
 * Return: STATUS_DONE, or another status after a line that says what is wrong.
 */
enum status saved_load(struct request *request, const struct saved_directory *directory,
		       struct saved *saved, struct saved_counts *counts)
{
	struct load *load = calloc(1, sizeof(*load));
	enum status status;

	if (!load)
		return fail_memory();
	rewind(saved->file);
	load->request = request;
	load->file = saved->file;
	load->name = saved->path;
	load->how = HASHBELT_IF_ABSENT;
	load->clock.floor = saved->time_ms;
	load->clock.stands = saved->halted;
	if (!saved->halted && wall_ms() < saved->time_ms)
		fail(STATUS_DONE,
		     "%s was written in the future, so the clock was set back: its entries have the time left that they had then",
		     saved->path);
	*counts = (struct saved_counts){ 0 };
	status = check_owner(request, saved);
	if (!status)
		status = load_file(load, counts);
	load_free(load);
	free(load);
	if (!status && directory->keeps && counts->refused)
		status = STATUS_ERROR;
	if (status)
		set_aside(directory, request->belt, "was not loaded");
	return status ? status : saved_remove(directory, request->belt);
}

/**
 * saved_close() - close a file
 * @saved:	from saved_open()
 */
void saved_close(struct saved *saved)
{
	if (saved->file)
		fclose(saved->file);
	free(saved->path);
	*saved = (struct saved){ 0 };
}
