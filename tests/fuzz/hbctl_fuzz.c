// SPDX-License-Identifier: GPL-2.0-only
/*
 * hbctl_fuzz - the parsers of hbctl, for libFuzzer.
 *
 * The first byte of an input says what the rest is:
 *
 *	d	a duration: if it is accepted, its printed form means the same
 *	s	a size: its value is exact, or it is refused
 *	n	a number: its value is exact, or it is refused
 *	e	bytes: they are equal after escaping and unescaping; and an escaped text
 *	b	bytes: they are equal after encoding in base64 and decoding
 *	l	a line of a file to load: the line that dump prints for it means the same
 *	u	a command line, a word a line; after an empty line, the content of any file
 *		that it reads. The arguments of the ioctls that it makes must be valid
 *
 * hbctl is built with the functions at the end of this file in the place of system calls.
 */
#include <ctype.h>
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

static void try_duration(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size), written[DURATION_SIZE];
	__u64 ms = 0, again = 0, digits = strspn(text, "0123456789");
	int err = duration_parse(text, &ms);

	if (!err) {
		must_be(ms <= HASHBELT_TTL_MAX_MS, "a duration is within its bounds");
		must_be(!duration_parse(duration_format(written, ms), &again) && again == ms,
			"a duration is printed so that it parses to the same value");
	}
	if (digits == strlen(text) && digits && digits < 19) {
		__u64 seconds = strtoull(text, NULL, 10);

		if (seconds <= HASHBELT_TTL_MAX_MS / 1000)
			must_be(!err && ms == seconds * 1000,
				"a duration without a unit is in seconds");
		else
			must_be(err == -ERANGE, "a duration beyond the maximum gives ERANGE");
	}
	free(text);
}

/* The factor of a suffix of a size; 0: there is no such suffix. */
static unsigned __int128 meaning_of(const char *suffix)
{
	static const char units[] = "kmgtpe", *const forms[] = { "", "iB", "B" };
	unsigned __int128 factor = 1;
	const char *unit;
	size_t form;

	if (!*suffix || !strcmp(suffix, "B"))
		return 1;
	unit = strchr(units, tolower((unsigned char)*suffix));
	for (form = 0; form < 3 && strcmp(suffix + 1, forms[form]); form++)
		;
	if (!unit || form == 3)
		return 0;
	for (; unit >= units; unit--)
		factor *= form == 2 ? 1000 : 1024;
	return factor;
}

static void try_size(const uint8_t *data, size_t size)
{
	unsigned __int128 whole = 0, billionths = 0, place = 1000000000, factor, exact;
	char *text = text_of(data, size), written[DURATION_SIZE];
	const char *p = text, *point;
	__u64 bytes = 0;
	int err = size_parse(text, &bytes);

	for (; *p >= '0' && *p <= '9'; p++)
		if (!(whole >> 64))
			whole = whole * 10 + (*p - '0');
	point = *p == '.' ? p++ : NULL;
	for (; point && *p >= '0' && *p <= '9'; p++) {
		place /= 10;
		billionths += place * (*p - '0');
	}
	factor = meaning_of(p);
	exact = whole * factor + billionths * factor / 1000000000;
	if (p == text || point == text || (point && (p == point + 1 || !*p)) || !factor)
		must_be(err == -EINVAL || err == -ERANGE, "a text that is no size is refused");
	else if (whole >> 64 || exact >> 64)
		must_be(err == -ERANGE, "a size beyond 64 bits gives ERANGE");
	else
		must_be(!err && bytes == exact, "a size is parsed exactly");
	if (!err)
		must_be(strlen(size_format(written, bytes)) < DURATION_SIZE,
			"a printed size fits into DURATION_SIZE");
	free(text);
}

/* A number is what strtoull(3) reads from digits of the same base. */
static void try_number(const uint8_t *data, size_t size)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	char *text = text_of(data, size), *p = text;
	bool hexadecimal = text[0] == '0' && tolower((unsigned char)text[1]) == 'x';
	__u64 number = 0, expected;
	int err = number_parse(text, &number);
	size_t len;

	if (hexadecimal)
		p += 2;
	len = strspn(p, digits);
	if (!hexadecimal)
		len = strspn(p, "0123456789");
	errno = 0;
	expected = strtoull(p, NULL, hexadecimal ? 16 : 10);
	if (!len || p[len])
		must_be(err == -EINVAL, "a text that is no number gives EINVAL");
	else if (errno)
		must_be(err == -ERANGE, "a number beyond 64 bits gives ERANGE");
	else
		must_be(!err && number == expected, "a number is parsed exactly");
	free(text);
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

static int base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	must_be(at, "base64 has only its 64 digits, and padding");
	return at - digits;
}

static void try_base64(const uint8_t *data, size_t size)
{
	char *text = NULL;
	size_t i, len;
	FILE *file = open_memstream(&text, &len);
	unsigned int bits;

	base64_print(file, data, size);
	fclose(file);
	must_be(len == (size + 2) / 3 * 4, "base64 has 4 digits for each 3 bytes or less");
	for (i = 0; i < size; i++) {
		bits = base64_digit(text[i / 3 * 4 + i % 3]) << 6 |
		       base64_digit(text[i / 3 * 4 + i % 3 + 1]);
		must_be((uint8_t)(bits >> (4 - 2 * (i % 3))) == data[i],
			"base64 decodes to the same bytes");
	}
	for (i = 0; i < len - (size * 4 + 2) / 3; i++)
		must_be(text[len - 1 - i] == '=', "base64 is padded with '='");
	free(text);
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
	case 'd':
		try_duration(data + 1, size - 1);
		break;
	case 's':
		try_size(data + 1, size - 1);
		break;
	case 'n':
		try_number(data + 1, size - 1);
		break;
	case 'e':
		try_escapes(data + 1, size - 1);
		break;
	case 'b':
		try_base64(data + 1, size - 1);
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

/* Functions in the place of system calls. The device checks the arguments of ioctls. */

static bool is_ttl(__u64 ms, bool may_keep)
{
	return ms <= HASHBELT_TTL_MAX_MS || ms == HASHBELT_TTL_NEVER ||
	       (may_keep && ms == HASHBELT_TTL_KEEP);
}

static void check_put(const struct hashbelt_item *item)
{
	__u32 conditions = item->how & (HASHBELT_IF_ABSENT | HASHBELT_IF_PRESENT |
					HASHBELT_IF_VERSION | HASHBELT_IF_LEASE);

	must_be(!(conditions & (conditions - 1)) && conditions == (item->how & ~HASHBELT_BOUND),
		"put: at most one condition, and no other bit but that it is bound");
	must_be(!(conditions & HASHBELT_IF_LEASE) || item->version,
		"put: the token of a fill lease is not 0");
	must_be(item->value_len <= HASHBELT_VALUE_MAX, "put: the value is not too long");
	must_be(is_ttl(item->ttl_ms, true), "put: the time-to-live is valid");
}

static void check_item(const struct hashbelt_item *item, unsigned long request)
{
	bool has_key = request != HASHBELT_IOC_TOUCH || !(item->how & HASHBELT_BOUND);

	must_be(has_key ? item->key_len && item->key_len <= HASHBELT_KEY_MAX : !item->key_len,
		"item: the length of the key is valid");
	must_be(!item->reserved, "item: the reserved word is 0");
	if (request == HASHBELT_IOC_PUT)
		check_put(item);
	else if (request == HASHBELT_IOC_REMOVE)
		must_be(!(item->how & ~(HASHBELT_IF_VERSION | HASHBELT_LEAVE_STALE)),
			"remove: the condition is valid");
	else if (request == HASHBELT_IOC_TOUCH || request == HASHBELT_IOC_ADD ||
		 item->how & HASHBELT_AND_TOUCH)
		must_be(is_ttl(item->ttl_ms, false), "item: the time-to-live is valid");
}

static void check_fill(const struct hashbelt_fill *fill)
{
	must_be(!(fill->how & ~(HASHBELT_BOUND | HASHBELT_STALE)),
		"fill: a call that asks for a value has no other bit");
	must_be(fill->lease_ms <= HASHBELT_TTL_MAX_MS && is_ttl(fill->wait_ms, false),
		"fill: the lease and the time to wait are valid");
}

static void check_name(const char *name, bool may_be_none)
{
	size_t len = strnlen(name, HASHBELT_NAME_SIZE), i;

	must_be(len < HASHBELT_NAME_SIZE && (len || may_be_none),
		"belt: the length of the name is valid");
	for (i = 0; i < len; i++)
		must_be((unsigned char)name[i] >= ' ' && name[i] != '/' && name[i] != 0x7f,
			"belt: the name has no control characters and no '/'");
	for (; i < HASHBELT_NAME_SIZE; i++)
		must_be(!name[i], "belt: the bytes after the name are 0");
}

static void check_settings(const struct hashbelt_settings *settings)
{
	const struct setting *setting = NULL;
	__u64 window = settings->window_bytes;
	__u32 policy = 0;

	while ((setting = settings_next(setting)))
		policy |= setting->bits;
	must_be(settings->ttl_ms <= HASHBELT_TTL_MAX_MS &&
		settings->grace_ms <= HASHBELT_TTL_MAX_MS, "settings: the times are valid");
	must_be(!settings->buckets || (settings->buckets >= HASHBELT_BUCKETS_MIN &&
				       settings->buckets <= HASHBELT_BUCKETS_MAX),
		"settings: the number of buckets is valid");
	must_be(!window || (window >= HASHBELT_WINDOW_MIN && window <= HASHBELT_WINDOW_MAX &&
			    !(window & (window - 1))),
		"settings: the size of the window is valid");
	must_be(!(settings->policy & ~policy) && !(settings->mode & ~0666) &&
		!(settings->fields & ~HASHBELT_SET_ALL) &&
		settings->handler <= HASHBELT_REINSERT &&
		!(settings->reasons & ~HASHBELT_REPORT_ALL) &&
		settings->consumers <= HASHBELT_CONSUMERS_OWNER &&
		!settings->reserved[0], "settings: flags are valid, and reserved words 0");
	check_name(settings->name, true);
}

static void check(unsigned long request, void *arg)
{
	struct hashbelt_batch *batch = arg;
	struct hashbelt_item *items;
	unsigned int i;

	switch (request) {
	case HASHBELT_IOC_GET:
	case HASHBELT_IOC_PUT:
	case HASHBELT_IOC_TOUCH:
	case HASHBELT_IOC_REMOVE:
	case HASHBELT_IOC_EXPIRE:
	case HASHBELT_IOC_ADD:
		check_item(arg, request);
		break;
	case HASHBELT_IOC_FILL:
		check_item(arg, request);
		check_fill(arg);
		break;
	case HASHBELT_IOC_BATCH:
		must_be(batch->count && batch->count <= HASHBELT_BATCH_MAX,
			"batch: the number of items is valid");
		items = (void *)(uintptr_t)batch->items;
		for (i = 0; i < batch->count; i++)
			check_item(&items[i], HASHBELT_IOC_PUT);
		batch->done = batch->count;
		break;
	case HASHBELT_IOC_CREATE:
	case HASHBELT_IOC_SET:
		check_settings(arg);
		break;
	case HASHBELT_IOC_OPEN:
	case HASHBELT_IOC_DESTROY:
		check_name(arg, false);
		break;
	case HASHBELT_IOC_ADVANCE:
		must_be(*(__u64 *)arg <= HASHBELT_TTL_MAX_MS, "advance: the time is valid");
		break;
	}
}

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
	check(request, arg);
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
