// SPDX-License-Identifier: GPL-2.0-only
/*
 * hbctl_fuzz - the parsers of hbctl, for libFuzzer.
 *
 * The first byte of an input says what the rest is:
 *
 *	e	bytes: they are equal after escaping and unescaping; and an escaped text
 *	l	a line of a file to load: the line that dump prints for it means the same
 *	u	a command line, a word a line; after an empty line, the content of any file
 *		that it reads
 *
 * duration_test and encoding_test try durations, sizes, numbers and base64.
 * hbctl is built with the functions at the end of this file in the place of system calls.
 */
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>

#include "../../tools/hbctl/hbctl.c"
#include "duration.h"
#include "encoding.h"
#include "line.h"
#include "settings.h"

#define WORDS_MAX	24

static const char *content = "";	/* content of each file */
static size_t content_len;
static unsigned char answer;	/* decides the results of the device */
static bool may_wait;		/* the command could wait for ever, so it gets no device */

/* The object is part of this program. */
const struct manage *manage_load(void)
{
	return &hbctl_manage;
}

static void must_be(bool good, const char *what)
{
	if (good)
		return;
	dprintf(STDERR_FILENO, "hbctl_fuzz: does not hold: %s\n", what);
	abort();
}

/* A copy of exactly this size, so that a read beyond its end is found. */
static char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static char *escaped(const void *bytes, size_t len, size_t *size)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, size);

	escape_print(file, bytes, len);
	fclose(file);
	return text;
}

static void try_escapes(const uint8_t *data, size_t size)
{
	size_t len, i;
	char *text = escaped(data, size, &len), *copy;
	ssize_t got;

	for (i = 0; i < len; i++)
		must_be((unsigned char)text[i] >= ' ' && text[i] != 0x7f,
			"an escaped text has no control characters");
	must_be(unescape(text, len) == (ssize_t)size && !memcmp(text, data, size),
		"bytes are equal after escaping and unescaping");
	free(text);
	/* A copy of exactly this size, so that a read beyond its end is found. */
	copy = malloc(size ? size : 1);
	memcpy(copy, data, size);
	got = unescape(copy, size);
	must_be(got == -EINVAL || (got >= 0 && (size_t)got <= size),
		"unescaping makes no text longer");
	is_utf8(data, size);
	free(copy);
}

/* The line that dump prints for an item. */
static char *printed(const struct hashbelt_item *item, size_t *size)
{
	struct { struct hashbelt_record record; char key[HASHBELT_KEY_MAX]; } entry = {
		.record = { .key_len = item->key_len },
	};
	struct value value = { .bytes = (void *)(uintptr_t)item->value, .len = item->value_len };
	struct hashbelt_item shown = *item;
	char *text = NULL;
	FILE *file;

	memcpy(entry.key, (void *)(uintptr_t)item->key, item->key_len);
	/* A dump never prints a line without a time-to-live. */
	if (shown.ttl_ms == HASHBELT_TTL_BELT)
		shown.ttl_ms = HASHBELT_TTL_NEVER;
	file = open_memstream(&text, size);
	line_print(file, &entry.record, &value, &shown, 0);
	fclose(file);
	return text;
}

static void try_line(const uint8_t *data, size_t size)
{
	const struct line_clock clock = { 0 };
	struct hashbelt_item item, again;
	char *line = text_of(data, size), *text;
	size_t len;

	if (!line_parse(line, size, &clock, &item)) {
		text = printed(&item, &len);
		must_be(text[len - 1] == '\n' && !memchr(text, '\n', len - 1),
			"dump prints an item as one line");
		text[len - 1] = '\0';
		must_be(!line_parse(text, len - 1, &clock, &again),
			"load accepts the line of a dump");
		must_be(again.key_len == item.key_len && again.value_len == item.value_len &&
			again.flags == item.flags &&
			!memcmp((void *)(uintptr_t)again.key, (void *)(uintptr_t)item.key,
				item.key_len) &&
			!memcmp((void *)(uintptr_t)again.value, (void *)(uintptr_t)item.value,
				item.value_len), "load reads the item that dump printed");
		must_be(again.ttl_ms == item.ttl_ms || item.ttl_ms == HASHBELT_TTL_BELT,
			"load reads the time-to-live that dump printed");
		free(text);
	}
	free(line);
}

/* Splits the input into words; the text after an empty line is the content of files. */
static int cut_words(char *text, size_t size, char **words)
{
	char *end = text + size, *line = text, *next;
	int count = 1;

	words[0] = "hbctl";
	content = "";
	content_len = 0;
	for (; line < end; line = next) {
		next = memchr(line, '\n', end - line);
		next = next ? next + 1 : end + 1;
		next[-1] = '\0';
		if (!*line && next < end) {
			content = next;
			content_len = end - next;
			break;
		}
		if (*line && count < WORDS_MAX)
			words[count++] = line;
	}
	words[count] = NULL;
	return count;
}

/*
 * Whether a word is a command that may wait, runs others from the content, or changes files or
 * modules.
 */
static bool is_patient(char **words)
{
	static const char * const patient[] = {
		"top", "events", "wait", "watch", "batch", "bench", "save",
		"reload-module",
	};
	size_t i;

	for (; *words; words++)
		for (i = 0; i < ARRAY_SIZE(patient); i++)
			if (!strcmp(*words, patient[i]))
				return true;
	return false;
}

static void try_usage(const uint8_t *data, size_t size)
{
	struct request request = {
		.device = HASHBELT_DEVICE, .belt = HASHBELT_DEFAULT_BELT,
	};
	char *words[WORDS_MAX + 1], *text;
	int count;

	if (!size)
		return;
	answer = *data;
	text = text_of(data + 1, size - 1);
	count = cut_words(text, size - 1, words);
	may_wait = is_patient(words);
	request.operands = calloc(count + 1, sizeof(*request.operands));
	request.arguments = words;
	run(&request, count, words);
	free(request.operands);
	free(text);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	/* Discard what hbctl prints. The fuzzer itself writes to the descriptor. */
	stdout = fopen("/dev/null", "w");
	stderr = fopen("/dev/null", "w");
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (*data) {
	case 'e':
		try_escapes(data + 1, size - 1);
		break;
	case 'l':
		try_line(data + 1, size - 1);
		break;
	case 'u':
		try_usage(data + 1, size - 1);
		break;
	}
	return 0;
}

/* Functions in the place of system calls */

int fuzz_ioctl(int fd, unsigned long request, ...)
{
	static const int errors[] = {
		0, 0, 0, ENOENT, EEXIST, ESTALE, EPERM, EIDRM, ENOSPC, EOVERFLOW, EDQUOT,
	};
	struct hashbelt_item *item;
	va_list args;
	void *arg;

	(void)fd;
	if (request == HASHBELT_IOC_ABI)
		return HASHBELT_ABI;
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	errno = errors[answer % ARRAY_SIZE(errors)];
	if (request == HASHBELT_IOC_NEXT || request == HASHBELT_IOC_LOCK ||
	    request == HASHBELT_IOC_FILL)
		errno = EPERM;
	/* The entries of put --hold have left, or it would go on. */
	item = arg;
	if (request == HASHBELT_IOC_TOUCH && item->how & HASHBELT_BOUND)
		errno = ENOENT;
	if (request == HASHBELT_IOC_OPEN || request == HASHBELT_IOC_BATCH ||
	    request == HASHBELT_IOC_SCAN)
		errno = 0;
	if (errno)
		return -1;
	if (request == HASHBELT_IOC_BATCH)
		((struct hashbelt_batch *)arg)->done = ((struct hashbelt_batch *)arg)->count;
	if (request == HASHBELT_IOC_GET) {
		item->value_len = item->value_len < answer ? item->value_len : answer;
		if (item->value_len)
			memset((void *)(uintptr_t)item->value, answer, item->value_len);
	}
	return 0;
}

int fuzz_open(const char *path, int flags, ...)
{
	(void)path;
	(void)flags;
	errno = ENOENT;
	return answer & 128 || may_wait ? -1 : memfd_create("device", MFD_CLOEXEC);
}

FILE *fuzz_fopen(const char *path, const char *mode)
{
	(void)mode;
	errno = ENOENT;
	return *path == '/' && answer & 64 ? NULL : fmemopen((void *)content, content_len, "r");
}

ssize_t fuzz_read(int fd, void *to, size_t size)
{
	(void)fd;
	if (size > content_len)
		size = content_len;
	if (size)
		memcpy(to, content, size);
	content += size;
	content_len -= size;
	return size;
}

pid_t fuzz_fork(void)
{
	must_be(false, "hbctl runs a command only with a lock or a fill lease");
	return -1;
}

/* The program for locks in a store is not installed. */
int fuzz_execv(const char *path, char *const *arguments)
{
	must_be(arguments[0], "the store program is given the arguments of hbctl");
	(void)path;
	errno = ENOENT;
	return -1;
}
