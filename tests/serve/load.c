// SPDX-License-Identifier: GPL-2.0-only
/*
 * load SOCKET THREADS OPERATIONS SEED - random requests from several connections at once to a
 * server of memcached's protocol on a unix socket, in pipelines of up to 64 requests. Checks each
 * reply: a value tells its key and its length, and each thread alone counts with a key of its own.
 * Prints their number each 200,000 operations, and the first wrong reply on stderr.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define KEYS		1000
#define LONGEST		3000	/* of the values, bytes */
#define PIPELINE	64
#define STEP		200000	/* operations of which the program tells */
#define MANY		8	/* keys of a get of several keys */

static const char *path;
static uint64_t operations, done;
static unsigned int threads;

/**
 * struct load - the requests of a thread
 * @number: of the thread
 * @random: the state of its random numbers
 * @socket: its connection
 * @out: requests of a pipeline, and @out_length their length
 * @in: bytes that were read, from @at to @in_length not looked at yet
 * @counted: the value that its own number has to have
 */
struct load {
	unsigned int number;
	uint64_t random;
	int socket;
	char out[PIPELINE * (LONGEST + 200)];
	size_t out_length;
	char in[65536];
	size_t at, in_length;
	uint64_t counted;
};

enum kind { GET, GET_MANY, SET, META_SET, DELETE, TOUCH, META_GET, COUNT, KINDS };

__attribute__((noreturn)) static void fail(const struct load *load, const char *what,
					   const char *found)
{
	fprintf(stderr, "load: connection %u: expected %s, found: %.80s\n", load->number, what,
		found);
	exit(1);
}

static unsigned int pick(struct load *load, unsigned int limit)
{
	load->random = load->random * 6364136223846793005 + 1442695040888963407;
	return (load->random >> 33) % limit;
}

static char byte_of(unsigned int key)
{
	return 'a' + key % 26;
}

/* Receiving */

static char next_byte(struct load *load)
{
	if (load->at == load->in_length) {
		ssize_t length = read(load->socket, load->in, sizeof(load->in));

		if (length <= 0)
			fail(load, "a reply", "the end of the connection");
		load->in_length = length;
		load->at = 0;
	}
	return load->in[load->at++];
}

/* next_line() - read a line, without its CR LF. */
static char *next_line(struct load *load, char *line, size_t size)
{
	size_t length = 0;
	char byte;

	while ((byte = next_byte(load)) != '\n') {
		if (length == size - 1)
			fail(load, "a short line", line);
		line[length++] = byte;
		line[length] = '\0';
	}
	if (!length || line[length - 1] != '\r')
		fail(load, "CR LF", line);
	line[length - 1] = '\0';
	return line;
}

/* next_value() - read a value of a key, and check its bytes. */
static void next_value(struct load *load, unsigned int key, unsigned int length)
{
	unsigned int i;

	for (i = 0; i < length; i++)
		if (next_byte(load) != byte_of(key))
			fail(load, "a value of its key", "another byte");
	if (next_byte(load) != '\r' || next_byte(load) != '\n')
		fail(load, "CR LF behind a value", "another byte");
}

/* next_values() - read the reply to a get; keys are from @first on, @count of them. */
static void next_values(struct load *load, unsigned int first, unsigned int count)
{
	unsigned int key, flags, length, after = first;
	char line[200];

	while (strcmp(next_line(load, line, sizeof(line)), "END")) {
		if (sscanf(line, "VALUE key%u %u %u", &key, &flags, &length) != 3 ||
		    flags != length || key < after || key >= first + count)
			fail(load, "a value that was asked for", line);
		next_value(load, key, length);
		after = key + 1;
	}
}

static void expect(struct load *load, const char *right, const char *also)
{
	char line[200];

	next_line(load, line, sizeof(line));
	if (strcmp(line, right) && strcmp(line, also))
		fail(load, right, line);
}

static void check_reply(struct load *load, enum kind kind, unsigned int key)
{
	unsigned int length, opaque;
	char line[200];

	switch (kind) {
	case GET:
		next_values(load, key, 1);
		break;
	case GET_MANY:
		next_values(load, key, MANY);
		break;
	case SET:
		expect(load, "STORED", "STORED");
		break;
	case DELETE:
		expect(load, "DELETED", "NOT_FOUND");
		break;
	case TOUCH:
		expect(load, "TOUCHED", "NOT_FOUND");
		break;
	case META_GET:
		next_line(load, line, sizeof(line));
		if (sscanf(line, "VA %u O%u", &length, &opaque) == 2 && opaque == key)
			next_value(load, key, length);
		else if (sscanf(line, "EN O%u", &opaque) != 1 || opaque != key)
			fail(load, "a value or a miss with its number", line);
		break;
	case COUNT:
		load->counted++;
		snprintf(line, sizeof(line), "%llu", (unsigned long long)load->counted);
		expect(load, line, line);
		break;
	case META_SET: /* it is quiet */
	case KINDS:
		break;
	}
}

/* Sending */

static char *value(char *end, unsigned int key, unsigned int length)
{
	memset(end, byte_of(key), length);
	return end + length + sprintf(end + length, "\r\n");
}

static void add_request(struct load *load, enum kind kind, unsigned int key)
{
	unsigned int i, length = pick(load, 8) ? pick(load, 100) : pick(load, LONGEST);
	char *end = load->out + load->out_length;

	switch (kind) {
	case GET:
	case GET_MANY:
		end += sprintf(end, "get");
		for (i = 0; i < (kind == GET ? 1 : MANY); i++)
			end += sprintf(end, " key%u", key + i);
		end += sprintf(end, "\r\n");
		break;
	case SET:
		end += sprintf(end, "set key%u %u 1000 %u\r\n", key, length, length);
		end = value(end, key, length);
		break;
	case META_SET:
		end += sprintf(end, "ms key%u %u F%u T1000 q\r\n", key, length, length);
		end = value(end, key, length);
		break;
	case DELETE:
		end += sprintf(end, "delete key%u\r\n", key);
		break;
	case TOUCH:
		end += sprintf(end, "touch key%u 1000\r\n", key);
		break;
	case META_GET:
		end += sprintf(end, "mg key%u v O%u\r\n", key, key);
		break;
	case COUNT:
		end += sprintf(end, "incr count%u 1\r\n", load->number);
		break;
	case KINDS:
		break;
	}
	load->out_length = end - load->out;
}

static void send_all(struct load *load)
{
	size_t sent = 0;

	while (sent < load->out_length) {
		ssize_t length =
			send(load->socket, load->out + sent, load->out_length - sent, MSG_NOSIGNAL);

		if (length <= 0)
			fail(load, "a server that reads", "the end of the connection");
		sent += length;
	}
}

static void run_pipeline(struct load *load, unsigned int count)
{
	enum kind kinds[PIPELINE];
	unsigned int keys[PIPELINE], i;

	load->out_length = 0;
	for (i = 0; i < count; i++) {
		kinds[i] = pick(load, KINDS);
		keys[i] = pick(load, KEYS);
		add_request(load, kinds[i], keys[i]);
	}
	send_all(load);
	for (i = 0; i < count; i++)
		check_reply(load, kinds[i], keys[i]);
}

static void connect_to(struct load *load)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int tries = 0;

	load->socket = socket(AF_UNIX, SOCK_STREAM, 0);
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	/* A server that starts has bound its socket before it listens. */
	while (connect(load->socket, (struct sockaddr *)&address, sizeof(address))) {
		if (errno != ECONNREFUSED || ++tries > 3000)
			fail(load, "a server", path);
		usleep(10000);
	}
}

static void *run(void *arg)
{
	struct load *load = arg;
	uint64_t mine = 0, before;

	connect_to(load);
	load->out_length = sprintf(load->out, "set count%u 0 0 1\r\n0\r\n", load->number);
	send_all(load);
	expect(load, "STORED", "STORED");
	while (mine < operations / threads) {
		unsigned int count = 1 + pick(load, PIPELINE);

		run_pipeline(load, count);
		mine += count;
		before = __atomic_fetch_add(&done, count, __ATOMIC_RELAXED);
		if (before / STEP != (before + count) / STEP) {
			printf("# %.1f million operations\n", (before + count) / 1e6);
			fflush(stdout);
		}
	}
	close(load->socket);
	return NULL;
}

int main(int argc, char **argv)
{
	struct load *loads;
	pthread_t *ids;
	unsigned int i;

	if (argc != 5) {
		fprintf(stderr, "usage: load SOCKET THREADS OPERATIONS SEED\n");
		return 2;
	}
	path = argv[1];
	threads = strtoul(argv[2], NULL, 10);
	operations = strtoull(argv[3], NULL, 10);
	loads = calloc(threads, sizeof(*loads));
	ids = calloc(threads, sizeof(*ids));
	for (i = 0; i < threads; i++) {
		loads[i].number = i;
		loads[i].random = strtoull(argv[4], NULL, 10) * 1000 + i;
		if (pthread_create(&ids[i], NULL, run, &loads[i]))
			fail(&loads[i], "a thread", "none");
	}
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	free(loads);
	free(ids);
	return 0;
}
