// SPDX-License-Identifier: GPL-2.0-only
/* redis_reply_test - what Redis sends is understood, and what makes no sense is refused. */
#include "../device/tap.h"
#include "array_size.h"
#include "redis_reply.h"

#define LONG_RUN	"0123456789012345678901234567890123456789012345678901234567890123"
#define MESSAGE		"*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n"

/* Parses a text. Return: the reply; NULL if there is none. */
static redisReply *parse(const char *text)
{
	redisReader *reader = reply_reader();
	void *reply = NULL;

	if (redisReaderFeed(reader, text, strlen(text)) != REDIS_OK ||
	    redisReaderGetReply(reader, &reply) != REDIS_OK)
		reply = NULL;
	redisReaderFree(reader);
	return reply;
}

static const struct told {
	const char *text;
	enum reply_told told;
	const char *name;
} tolds[] = {
	{ MESSAGE "*1\r\n$1\r\na\r\n", TOLD_KEYS, "a key" },
	{ MESSAGE "*2\r\n$1\r\na\r\n$0\r\n\r\n", TOLD_KEYS, "two keys, one empty" },
	{ MESSAGE "*0\r\n", TOLD_KEYS, "no keys" },
	{ MESSAGE "*-1\r\n", TOLD_ALL, "a null array" },
	{ MESSAGE "$-1\r\n", TOLD_ALL, "a null" },
	{ MESSAGE "$1\r\na\r\n", TOLD_NOTHING, "a published text" },
	{ MESSAGE ":1\r\n", TOLD_WRONG, "a number in place of keys" },
	{ MESSAGE "*1\r\n:1\r\n", TOLD_WRONG, "a number in place of a key" },
	{ MESSAGE "*1\r\n$-1\r\n", TOLD_WRONG, "a null in place of a key" },
	{ MESSAGE "*1\r\n*1\r\n$1\r\na\r\n", TOLD_WRONG, "an array in place of a key" },
	{ "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n*0\r\n", TOLD_WRONG, "another channel" },
	{ "*2\r\n$4\r\npong\r\n$0\r\n\r\n", TOLD_PONG, "an answer" },
	{ "*1\r\n$4\r\npong\r\n", TOLD_WRONG, "half an answer" },
	{ "*0\r\n", TOLD_WRONG, "an empty array" },
	{ "+OK\r\n", TOLD_WRONG, "a status" },
	{ "$-1\r\n", TOLD_WRONG, "a null alone" },
	{ "*2\r\n:1\r\n:2\r\n", TOLD_WRONG, "numbers" },
	{ "*3\r\n$11\r\nunsubscribe\r\n$20\r\n__redis__:invalidate\r\n:0\r\n", TOLD_WRONG,
	  "the end of a subscription" },
};

static void test_told(void)
{
	const struct told *told;
	const redisReply *keys;
	redisReply *reply;

	for (told = tolds; told < tolds + ARRAY_SIZE(tolds); told++) {
		reply = parse(told->text);
		is_int(reply ? (int)reply_told(reply, &keys) : -1, told->told, "told: %s",
		       told->name);
		freeReplyObject(reply);
	}
	reply = parse(MESSAGE "*2\r\n$3\r\na\0b\r\n$1\r\nc\r\n");
	ok(!reply, "a text that ends inside of a key is no reply yet");
}

static void test_hello(void)
{
	static const struct {
		const char *text;
		bool good;
		const char *name;
	} hellos[] = {
		{ "*4\r\n$2\r\nid\r\n:7\r\n$4\r\nrole\r\n$6\r\nmaster\r\n", true, "a primary" },
		{ "*4\r\n$4\r\nrole\r\n$7\r\nreplica\r\n$2\r\nid\r\n:7\r\n", true, "a replica" },
		{ "*6\r\n$2\r\nid\r\n:7\r\n$4\r\nmode\r\n$7\r\ncluster\r\n"
		  "$4\r\nrole\r\n$6\r\nmaster\r\n", true, "a node of a cluster" },
		{ "*2\r\n$2\r\nid\r\n:7\r\n", false, "no role" },
		{ "*2\r\n$4\r\nrole\r\n$6\r\nmaster\r\n", false, "no number" },
		{ "*4\r\n$2\r\nid\r\n$1\r\n7\r\n$4\r\nrole\r\n$6\r\nmaster\r\n", false,
		  "a text in place of the number" },
		{ "*3\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$2\r\nid\r\n", false,
		  "a name without a value" },
		{ "*0\r\n", false, "an empty array" },
		{ "+OK\r\n", false, "a status" },
	};
	struct reply_hello hello;
	redisReply *reply;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hellos); i++) {
		reply = parse(hellos[i].text);
		is_int(reply_hello(reply, &hello), hellos[i].good, "HELLO: %s", hellos[i].name);
		if (hellos[i].good)
			ok(hello.id == 7 &&
			   hello.is_replica == !!strstr(hellos[i].text, "replica") &&
			   hello.is_cluster == !!strstr(hellos[i].text, "cluster"),
			   "HELLO: the number, the role and the mode of %s", hellos[i].name);
		freeReplyObject(reply);
	}
}

static void test_info(void)
{
	static const struct {
		const char *text;
		const char *run;
		const char *name;
	} infos[] = {
		{ "$36\r\n# Server\r\nrun_id:abc\r\ntcp_port:6379\r\n\r\n", "abc", "a number" },
		{ "$20\r\n# Server\r\nrun_id:abc\r\n", "abc", "a number at the end" },
		{ "$10\r\n# Server\r\n\r\n", NULL, "no number" },
		{ "$19\r\n# Server\r\nrun_id:\r\n\r\n", NULL, "an empty number" },
		{ "$82\r\n# Server\r\nrun_id:" LONG_RUN "\r\n\r\n", NULL,
		  "a number that is too long" },
		{ "$10\r\nrun_id:abc\r\n", "abc", "a number in the first line" },
		{ "$11\r\nxrun_id:abc\r\n", NULL, "another name that ends so" },
		{ "+OK\r\n", NULL, "a status" },
		{ "$-1\r\n", NULL, "a null" },
	};
	char run[REPLY_RUN_SIZE];
	redisReply *reply;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(infos); i++) {
		reply = parse(infos[i].text);
		ok(reply && reply_run(reply, run) == !!infos[i].run &&
		   (!infos[i].run || !strcmp(run, infos[i].run)), "INFO: %s", infos[i].name);
		freeReplyObject(reply);
	}
}

static void test_replication(void)
{
	static const struct {
		const char *text;
		bool good;
		struct reply_replication replication;
		const char *name;
	} infos[] = {
		{ "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n", true,
		  { false, false, -1 }, "a primary" },
		{ "role:slave\r\nmaster_link_status:up\r\nmaster_last_io_seconds_ago:4\r\n",
		  true, { true, true, 4 }, "a replica" },
		{ "role:slave\r\nmaster_link_status:down\r\nmaster_last_io_seconds_ago:-1\r\n",
		  true, { true, false, -1 }, "a replica without its primary" },
		{ "role:slave\r\nmaster_link_status:upper\r\n", true, { true, false, -1 },
		  "a link in another state" },
		{ "role:slave\r\nmaster_link_status:up\r\n", true, { true, true, -1 },
		  "a replica that does not say when its primary has sent something" },
		{ "role:slave\r\nmaster_link_status:up\r\n"
		  "master_last_io_seconds_ago:9223372036854775807\r\n", true,
		  { true, true, REPLY_SILENCE_MAX }, "a primary that is silent for all time" },
		{ "role:slave\r\nmaster_link_status:up\r\nmaster_last_io_seconds_ago:-9\r\n",
		  true, { true, true, -1 }, "a negative time" },
		{ "role:slave\r\nmaster_link_status:up\r\nmaster_last_io_seconds_ago:now\r\n",
		  true, { true, true, -1 }, "a time that is no number" },
		{ "role:slave\r\n", false, { true, false, -1 }, "a replica without a link" },
		{ "# Replication\r\nmaster_link_status:up\r\n", false, { false, false, -1 },
		  "no role" },
		{ "", false, { false, false, -1 }, "nothing" },
	};
	struct reply_replication replication;
	redisReply *reply;
	char text[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(infos); i++) {
		snprintf(text, sizeof(text), "$%zu\r\n%s\r\n", strlen(infos[i].text),
			 infos[i].text);
		reply = parse(text);
		is_int(reply_replication(reply, &replication), infos[i].good,
		       "INFO replication: %s", infos[i].name);
		ok(replication.is_replica == infos[i].replication.is_replica &&
		   replication.is_linked == infos[i].replication.is_linked &&
		   replication.silence == infos[i].replication.silence,
		   "INFO replication: what %s says", infos[i].name);
		freeReplyObject(reply);
	}
	reply = parse("+OK\r\n");
	ok(!reply_replication(reply, &replication), "INFO replication: a status");
	freeReplyObject(reply);
}

static void test_others(void)
{
	redisReply *reply = parse("*3\r\n$9\r\nsubscribe\r\n$20\r\n__redis__:invalidate\r\n:1\r\n");

	ok(reply_is_subscribed(reply), "the answer to SUBSCRIBE is known");
	freeReplyObject(reply);
	reply = parse("*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
	ok(!reply_is_subscribed(reply), "that to another channel is none");
	freeReplyObject(reply);
	reply = parse("-ERR wrong\r\n");
	ok(reply_error(reply) && !strcmp(reply_error(reply), "ERR wrong"), "an error has its text");
	freeReplyObject(reply);
	reply = parse("+OK\r\n");
	ok(!reply_error(reply), "a status is no error");
	freeReplyObject(reply);
}

static void test_limits(void)
{
	static const char * const wrong[] = {
		"*1048577\r\n", "*2147483647\r\n", "*99999999999\r\n", "*-2\r\n", "$-2\r\n",
		"!\r\n", "HTTP/1.1 400 Bad Request\r\n", "*x\r\n", ":x\r\n",
		"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
	};
	redisReader *reader = reply_reader();
	static char part[1 << 20];
	void *reply;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		redisReader *one = reply_reader();

		redisReaderFeed(one, wrong[i], strlen(wrong[i]));
		is_int(redisReaderGetReply(one, &reply), REDIS_ERR, "'%.*s' is an error",
		       (int)strcspn(wrong[i], "\r"), wrong[i]);
		redisReaderFree(one);
	}
	redisReaderFeed(reader, "$536870912\r\n", 12);
	for (i = 0; i < 1000 && !reply_is_too_long(reader); i++) {
		redisReaderFeed(reader, part, sizeof(part));
		redisReaderGetReply(reader, &reply);
	}
	is_int(i, REPLY_BYTES_MAX / sizeof(part) + (i > REPLY_BYTES_MAX / sizeof(part)),
	       "a reply of 512 MiB is too long from 64 MiB on");
	redisReaderFree(reader);
}

int main(void)
{
	test_told();
	test_hello();
	test_info();
	test_replication();
	test_others();
	test_limits();
	return done_testing();
}
