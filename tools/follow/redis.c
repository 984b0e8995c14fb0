// SPDX-License-Identifier: GPL-2.0-only
/*
 * Redis 6 or later, or Valkey, by CLIENT TRACKING in broadcast mode, in the form of RESP2: one
 * connection, the subscriber, is told changes; tracking is switched on by another, the commander,
 * and redirected to the first. If either breaks, Redis tells no more, and may not say so on the
 * other: so both are asked for answers, and the loss of one is the loss of both.
 *
 * Can a change be missed? Redis has switched tracking on when it answers the commander. Both
 * connections are asked once more after that: when both have answered, the subscriber was alive
 * with tracking on. From then on a change is told, or the subscriber ends, or it does not answer
 * in time.
 *
 * Does an answer of the subscriber come behind the changes that were made before its question was
 * asked? Redis tells the changes of a turn of its loop at the end of that turn, and reads a
 * question in a turn that begins after it was asked. But with threads for input and output
 * (io-threads), Redis 8.6 may answer before it tells the changes of the last turn. It has told them
 * when it answers the next question, which is asked after that answer. So each answer proves the
 * question before the one that it answers.
 *
 * A replica tells changes late, and none if it is cut off, and a primary may become one: the
 * commander's question is INFO, whose answer has the role. A replica is followed only if the
 * command line says so; its answer proves the time at which its primary has last sent something.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "array_size.h"
#include "background.h"
#include "clock.h"
#include "log.h"
#include "options.h"
#include "password.h"
#include "redis.h"
#include "redis_reply.h"
#include "tls.h"

/* Bytes that are read from a connection at once. */
#define READ_SIZE	(64 * 1024)

/* Addresses of a host of which each is tried first at some time. */
#define ADDRESSES_MAX	16

/* Words of a command beside prefixes. */
#define WORDS_MAX	8

/* The answer that a connection waits for. */
enum step {
	STEP_CONNECT,		/* of the socket, and of TLS */
	STEP_HELLO,
	STEP_INFO,
	STEP_SUBSCRIBE,		/* the subscriber alone */
	STEP_TRACKING,		/* the commander alone */
	STEP_ON,
};

/**
 * struct link - a connection
 * @redis:	the engine
 * @name:	its name in messages
 * @bev:	its socket; NULL: there is none
 * @reader:	parses what it receives
 * @step:	the answer that it waits for
 * @asked:	when an unanswered question was asked; 0: there is none
 * @answered:	when the last answered question was asked; 0: none was
 * @proof:	the time until which changes were told, or the role was known; 0: none
 */
struct link {
	struct redis *redis;
	const char *name;
	struct bufferevent *bev;
	redisReader *reader;
	enum step step;
	uint64_t asked;
	uint64_t answered;
	uint64_t proof;
};

/**
 * struct redis - the engine
 * @setup:	base of events, options, owner
 * @tls:	certificates; NULL without TLS
 * @lookup:	the search for the addresses; NULL: there is none
 * @addresses:	the addresses of the host; NULL for a unix socket
 * @address:	that of the server: of both connections, as several addresses may be several servers
 * @first:	which of the addresses is tried first: another after one that could not be reached
 * @subscriber:	the connection that is told changes
 * @commander:	the one that has switched tracking on
 * @id:		the number that Redis has given to the subscriber
 * @run:	the number of the run of the server that the subscriber reaches
 * @is_replica:	the role of the server when the attempt began
 * @is_cluster:	it is a node of a cluster
 * @delay:	as for engine_ops
 * @is_following: the owner was told so
 * @is_lost:	the owner was told so
 */
struct redis {
	struct engine_setup setup;
	SSL_CTX *tls;
	struct background *lookup;
	struct addrinfo *addresses;
	struct addrinfo *address;
	unsigned int first;
	struct link subscriber;
	struct link commander;
	long long id;
	char run[REPLY_RUN_SIZE];
	bool is_replica;
	bool is_cluster;
	uint64_t delay;
	bool is_following;
	bool is_lost;
};

/* A search for addresses, for a thread. */
struct lookup {
	char *host;
	char *port;
	struct addrinfo *found;
	int result;
	int error;
};

static struct redis *redis_of(const struct engine *engine)
{
	return (struct redis *)engine;
}

/* The attempt has failed. */
__attribute__((format(printf, 2, 3)))
static void fail(struct redis *redis, const char *format, ...)
{
	char reason[ENGINE_REASON_SIZE];
	va_list args;

	if (redis->is_lost)
		return;
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	redis->is_lost = true;
	redis->setup.calls->lost(redis->setup.owner, reason);
}

static void close_link(struct link *link)
{
	if (link->bev)
		bufferevent_free(link->bev);
	if (link->reader)
		redisReaderFree(link->reader);
	link->bev = NULL;
	link->reader = NULL;
	link->step = STEP_CONNECT;
	link->asked = 0;
	link->answered = 0;
	link->proof = 0;
}

/* Sends a command. */
static void send_words(struct link *link, int count, const char **words, const size_t *lens)
{
	char *command = NULL;
	int len = redisFormatCommandArgv(&command, count, words, lens);

	if (len < 0 || bufferevent_write(link->bev, command, len))
		fail(link->redis, "there is no memory for a command");
	/* It may have a password. */
	if (len > 0)
		explicit_bzero(command, len);
	redisFreeCommand(command);
}

static void send_hello(struct link *link)
{
	const struct options *options = link->redis->setup.options;
	const char *words[WORDS_MAX] = { "HELLO", "2" }, *user;
	char password[PASSWORD_MAX], problem[PASSWORD_PROBLEM_SIZE];
	int count = 2;

	user = options->user ? options->user : options->target.user;
	if (options->password_file) {
		if (!password_read(options->password_file, password, problem)) {
			fail(link->redis, "%s", problem);
			return;
		}
		words[count++] = "AUTH";
		words[count++] = user ? user : "default";
		words[count++] = password;
	}
	words[count++] = "SETNAME";
	words[count++] = "hbfollow";
	link->step = STEP_HELLO;
	send_words(link, count, words, NULL);
	explicit_bzero(password, sizeof(password));
}

static void send_info(struct link *link, const char *section)
{
	const char *words[2] = { "INFO", section };

	send_words(link, 2, words, NULL);
}

static void send_info_server(struct link *link)
{
	link->step = STEP_INFO;
	send_info(link, "server");
}

static void send_subscribe(struct link *link)
{
	const char *words[2] = { "SUBSCRIBE", REPLY_CHANNEL };

	link->step = STEP_SUBSCRIBE;
	send_words(link, 2, words, NULL);
}

static void send_tracking(struct link *link)
{
	const struct target *target = &link->redis->setup.options->target;
	size_t most = WORDS_MAX + 2 * target->prefix_count, i;
	const char **words = calloc(most, sizeof(*words));
	size_t *lens = calloc(most, sizeof(*lens));
	char id[32];
	const char *begin[6] = { "CLIENT", "TRACKING", "ON", "REDIRECT", id, "BCAST" };
	int count = ARRAY_SIZE(begin);

	snprintf(id, sizeof(id), "%lld", link->redis->id);
	link->step = STEP_TRACKING;
	if (words && lens) {
		memcpy(words, begin, sizeof(begin));
		for (i = 0; i < target->prefix_count; i++) {
			words[count++] = "PREFIX";
			words[count++] = target->prefixes[i].bytes;
		}
		for (i = 0; i < (size_t)count; i++)
			lens[i] = strlen(words[i]);
		for (i = 0; i < target->prefix_count; i++)
			lens[ARRAY_SIZE(begin) + 2 * i + 1] = target->prefixes[i].len;
		send_words(link, count, words, lens);
	} else {
		fail(link->redis, "there is no memory for a command");
	}
	free(words);
	free(lens);
}

/* Asks a connection for an answer. */
static void ask(struct link *link)
{
	const char *ping[1] = { "PING" };

	if (link->asked || link->step != STEP_ON || link->redis->is_lost)
		return;
	link->asked = clock_us();
	if (link == &link->redis->commander)
		send_info(link, "replication");
	else
		send_words(link, 1, ping, NULL);
}

/* Both connections have answered. */
static void begin_to_follow(struct redis *redis)
{
	redis->is_following = true;
	if (redis->is_cluster)
		log_line(LOG_TROUBLE,
			 "the server is a node of a cluster: each primary of it needs an hbfollow of its own");
	redis->setup.calls->following(redis->setup.owner);
}

/* A connection has answered, and PROOF is the time of which it is the proof. */
static void note_answer(struct link *link, uint64_t proof)
{
	struct redis *redis = link->redis;

	link->proof = proof;
	link->answered = link->asked;
	link->asked = 0;
	if (!redis->is_following && redis->subscriber.proof && redis->commander.proof)
		begin_to_follow(redis);
	else if (!proof)
		ask(link);
}

/* Whether a connection was asked. */
static bool was_asked(struct link *link)
{
	if (!link->asked)
		fail(link->redis, "the server answers on its %s connection without being asked",
		     link->name);
	return link->asked;
}

static void on_pong(struct link *link)
{
	if (!was_asked(link))
		return;
	link->redis->delay = clock_us() - link->asked;
	note_answer(link, link->answered);
}

static bool has_same_role(struct redis *redis, bool is_replica)
{
	if (is_replica != redis->is_replica)
		fail(redis, "the server has become a %s", is_replica ? "replica" : "primary");
	return is_replica == redis->is_replica;
}

/*
 * Of the time of --detect, half is for the silence of a primary, a quarter until the next question,
 * and a quarter until its answer.
 */
static void on_replica(struct link *link, const struct reply_replication *replication)
{
	struct redis *redis = link->redis;
	uint64_t silence = (replication->silence + 1) * 1000000ULL;

	if (!replication->is_linked || replication->silence < 0)
		fail(redis, "the replica has no connection with its primary");
	else if (silence > redis->setup.options->detect_ms * 1000ULL / 2)
		fail(redis,
		     "the replica has heard nothing from its primary for %ld s, more than half of --detect: give a longer time, or the primary a shorter repl-ping-replica-period",
		     replication->silence);
	else
		note_answer(link, link->asked > silence ? link->asked - silence : 1);
}

static void on_replication(struct link *link, const redisReply *reply)
{
	struct reply_replication replication;
	struct redis *redis = link->redis;

	if (!was_asked(link))
		return;
	if (!reply_replication(reply, &replication))
		fail(redis, "the server does not answer INFO with its role");
	else if (!has_same_role(redis, replication.is_replica))
		return;
	else if (replication.is_replica)
		on_replica(link, &replication);
	else
		note_answer(link, link->asked);
}

static void open_link(struct link *link);

static void on_hello(struct link *link, const redisReply *reply)
{
	struct redis *redis = link->redis;
	struct reply_hello hello;

	if (!reply_hello(reply, &hello)) {
		fail(redis, "the server does not answer HELLO as Redis 6 or later does");
	} else if (hello.is_replica && !redis->setup.options->replica) {
		fail(redis,
		     "the server is a replica, which changes late: follow its primary, or give --replica");
	} else if (link == &redis->subscriber) {
		redis->id = hello.id;
		redis->is_replica = hello.is_replica;
		redis->is_cluster = hello.is_cluster;
		send_info_server(link);
	} else if (has_same_role(redis, hello.is_replica)) {
		send_info_server(link);
	}
}

/*
 * An address may lead to several servers. The number of the subscriber may be that of another
 * client where the commander is: then tracking would be switched on, and nothing would ever be
 * told.
 */
static void on_info(struct link *link, const redisReply *reply)
{
	struct redis *redis = link->redis;
	char run[REPLY_RUN_SIZE];

	if (!reply_run(reply, run)) {
		fail(redis, "the server does not answer INFO with the number of its run");
	} else if (link == &redis->subscriber) {
		strcpy(redis->run, run);
		send_subscribe(link);
	} else if (strcmp(run, redis->run)) {
		fail(redis, "the address leads to several servers: give that of one");
	} else {
		send_tracking(link);
	}
}

static void on_subscribed(struct link *link, const redisReply *reply)
{
	if (!reply_is_subscribed(reply)) {
		fail(link->redis, "the server does not answer SUBSCRIBE");
		return;
	}
	link->step = STEP_ON;
	open_link(&link->redis->commander);
}

static void on_tracking(struct link *link, const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_STATUS) {
		fail(link->redis, "the server does not answer CLIENT TRACKING");
		return;
	}
	link->step = STEP_ON;
	ask(&link->redis->subscriber);
	ask(&link->redis->commander);
}

static void on_told(struct link *link, const redisReply *reply)
{
	const struct engine_setup *setup = &link->redis->setup;
	const redisReply *keys;
	size_t i;

	switch (reply_told(reply, &keys)) {
	case TOLD_KEYS:
		for (i = 0; i < keys->elements; i++)
			setup->calls->removed(setup->owner, keys->element[i]->str,
					      keys->element[i]->len);
		break;
	case TOLD_ALL:
		setup->calls->cleared(setup->owner);
		break;
	case TOLD_PONG:
		on_pong(link);
		break;
	case TOLD_NOTHING:
		break;
	case TOLD_WRONG:
		fail(link->redis, "the server tells what is neither keys nor an answer");
		break;
	}
}

static void on_reply(struct link *link, const redisReply *reply)
{
	static void (* const steps[])(struct link *link, const redisReply *reply) = {
		[STEP_HELLO] = on_hello,
		[STEP_INFO] = on_info,
		[STEP_SUBSCRIBE] = on_subscribed,
		[STEP_TRACKING] = on_tracking,
	};
	const char *error = reply_error(reply);

	if (error)
		fail(link->redis, "the server refuses: %s", error);
	else if (link->step != STEP_ON)
		steps[link->step](link, reply);
	else if (link == &link->redis->commander)
		on_replication(link, reply);
	else
		on_told(link, reply);
}

/* Takes all whole replies. */
static void take_replies(struct link *link)
{
	void *reply;

	while (!link->redis->is_lost) {
		if (redisReaderGetReply(link->reader, &reply) != REDIS_OK) {
			fail(link->redis, "the server's bytes make no sense: %s",
			     link->reader->errstr);
			return;
		}
		if (!reply)
			break;
		on_reply(link, reply);
		freeReplyObject(reply);
	}
	if (reply_is_too_long(link->reader))
		fail(link->redis, "the server sends a reply of more than %d bytes",
		     REPLY_BYTES_MAX);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(bev);
	size_t len = evbuffer_get_length(input);
	struct link *link = arg;
	struct redis *redis = link->redis;
	const void *bytes = evbuffer_pullup(input, -1);

	if (redis->is_lost)
		return;
	if (link->step == STEP_CONNECT) {
		fail(redis, "the server speaks first, so it is no Redis");
		return;
	}
	if (!bytes || redisReaderFeed(link->reader, bytes, len) != REDIS_OK) {
		fail(redis, "there is no memory for a reply");
		return;
	}
	evbuffer_drain(input, len);
	take_replies(link);
	redis->setup.calls->told(redis->setup.owner);
}

/* The reason for the end of a connection. */
static const char *end_reason(struct link *link, short what, int error)
{
	unsigned long code = bufferevent_get_openssl_error(link->bev);
	SSL *ssl = link->redis->tls ? bufferevent_openssl_get_ssl(link->bev) : NULL;

	if (ssl && SSL_get_verify_result(ssl) != X509_V_OK)
		return X509_verify_cert_error_string(SSL_get_verify_result(ssl));
	if (code && ERR_reason_error_string(code))
		return ERR_reason_error_string(code);
	if (what & BEV_EVENT_EOF)
		return "the server has closed it";
	return error ? strerror(error) : "it broke";
}

/* Whether there is another address. The commander goes where the subscriber is. */
static bool may_go_on(const struct link *link)
{
	const struct redis *redis = link->redis;

	return link == &redis->subscriber && redis->address && redis->address->ai_next;
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	int error = EVUTIL_SOCKET_ERROR();
	struct link *link = arg;
	struct redis *redis = link->redis;
	const char *reason;

	(void)bev;
	if (redis->is_lost)
		return;
	if (what & BEV_EVENT_CONNECTED) {
		send_hello(link);
		return;
	}
	reason = end_reason(link, what, error);
	if (link->step != STEP_CONNECT || !may_go_on(link)) {
		fail(redis, "the %s connection: %s", link->name, reason);
		return;
	}
	close_link(link);
	redis->address = redis->address->ai_next;
	open_link(link);
}

/* A network that swallows packets must not keep what is written for long. */
static void set_socket(const struct redis *redis, int fd)
{
	unsigned int timeout = redis->setup.options->detect_ms;
	int on = 1, seconds = (timeout + 999) / 1000, probes = 3;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

/* Begins to connect a socket. Return: it, or -1 with errno. */
static int connect_socket(const struct redis *redis)
{
	const struct addrinfo *address = redis->address;
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd, result, error;

	fd = socket(address ? address->ai_family : AF_UNIX,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (address) {
		set_socket(redis, fd);
		result = connect(fd, address->ai_addr, address->ai_addrlen);
	} else {
		strcpy(name.sun_path, redis->setup.options->target.path);
		result = connect(fd, (struct sockaddr *)&name, sizeof(name));
	}
	if (!result || errno == EINPROGRESS)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Takes a socket, which is connecting. Return: NULL, and the socket is closed, without memory. */
static struct bufferevent *take_socket(const struct redis *redis, int fd)
{
	struct event_base *base = redis->setup.base;
	struct bufferevent *bev = NULL;
	SSL *ssl;

	if (redis->tls) {
		ssl = tls_connection(redis->tls, redis->setup.options->target.host);
		if (ssl)
			bev = bufferevent_openssl_socket_new(base, fd, ssl,
							     BUFFEREVENT_SSL_CONNECTING,
							     BEV_OPT_CLOSE_ON_FREE);
		if (ssl && !bev)
			SSL_free(ssl);
	} else {
		bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
		if (bev && bufferevent_socket_connect(bev, NULL, 0)) {
			bufferevent_free(bev);
			return NULL;
		}
	}
	if (!bev)
		close(fd);
	return bev;
}

/* Begins to connect. The addresses of a host are tried in their order. */
static void open_link(struct link *link)
{
	struct redis *redis = link->redis;
	int fd = connect_socket(redis);

	while (fd < 0 && may_go_on(link)) {
		redis->address = redis->address->ai_next;
		fd = connect_socket(redis);
	}
	if (fd < 0) {
		fail(redis, "the %s connection: %s", link->name, strerror(errno));
		return;
	}
	link->reader = reply_reader();
	link->bev = take_socket(redis, fd);
	if (!link->reader || !link->bev) {
		fail(redis, "there is no memory for the %s connection", link->name);
		return;
	}
	bufferevent_set_max_single_read(link->bev, READ_SIZE);
	bufferevent_setcb(link->bev, on_read, NULL, on_event, link);
	if (bufferevent_enable(link->bev, EV_READ | EV_WRITE))
		fail(redis, "there is no memory for the %s connection", link->name);
}

/* In a thread: a resolver may take its time. */
static void look_up(void *data)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct lookup *lookup = data;

	lookup->result = getaddrinfo(lookup->host, lookup->port, &hints, &lookup->found);
	lookup->error = errno;
}

static void free_lookup(void *data)
{
	struct lookup *lookup = data;

	if (lookup->found)
		freeaddrinfo(lookup->found);
	free(lookup->host);
	free(lookup->port);
	free(lookup);
}

/* An address that swallows packets must not be tried first each time. */
static struct addrinfo *first_address(const struct redis *redis)
{
	struct addrinfo *address = redis->addresses;
	unsigned int i;

	for (i = 0; i < redis->first; i++)
		address = address->ai_next ? address->ai_next : redis->addresses;
	return address;
}

static void on_found(void *owner, void *data)
{
	struct lookup *lookup = data;
	struct redis *redis = owner;

	redis->lookup = NULL;
	if (lookup->result) {
		fail(redis, "cannot find the host %s: %s", lookup->host,
		     lookup->result == EAI_SYSTEM ? strerror(lookup->error) :
						    gai_strerror(lookup->result));
		return;
	}
	redis->addresses = lookup->found;
	lookup->found = NULL;
	redis->address = first_address(redis);
	open_link(&redis->subscriber);
}

static const struct background_job lookup_job = {
	.work = look_up, .done = on_found, .free = free_lookup,
};

static void start_lookup(struct redis *redis)
{
	const struct target *target = &redis->setup.options->target;
	struct lookup *lookup = calloc(1, sizeof(*lookup));

	if (lookup) {
		lookup->host = strdup(target->host);
		lookup->port = strdup(target->port);
		if (lookup->host && lookup->port)
			redis->lookup = background_start(redis->setup.base, &lookup_job, lookup,
							 redis);
		else
			free_lookup(lookup);
	}
	if (!redis->lookup)
		fail(redis, "no memory or no thread to look the host up");
}

static void start(struct engine *engine)
{
	struct redis *redis = redis_of(engine);

	redis->is_lost = false;
	redis->is_following = false;
	if (redis->setup.options->target.path)
		open_link(&redis->subscriber);
	else
		start_lookup(redis);
}

static void ping(struct engine *engine)
{
	struct redis *redis = redis_of(engine);

	ask(&redis->subscriber);
	ask(&redis->commander);
}

static uint64_t proof(const struct engine *engine)
{
	const struct redis *redis = redis_of(engine);

	return redis->subscriber.proof < redis->commander.proof ? redis->subscriber.proof :
								   redis->commander.proof;
}

static uint64_t delay(const struct engine *engine)
{
	return redis_of(engine)->delay;
}

static bool is_replica(const struct engine *engine)
{
	return redis_of(engine)->is_replica;
}

static void stop(struct engine *engine)
{
	struct redis *redis = redis_of(engine);

	redis->is_lost = true;
	background_abandon(redis->lookup);
	redis->lookup = NULL;
	redis->first = redis->subscriber.bev && redis->subscriber.step == STEP_CONNECT ?
		       (redis->first + 1) % ADDRESSES_MAX : redis->first;
	close_link(&redis->subscriber);
	close_link(&redis->commander);
	if (redis->addresses)
		freeaddrinfo(redis->addresses);
	redis->addresses = NULL;
	redis->address = NULL;
}

static void close_redis(struct engine *engine)
{
	struct redis *redis = redis_of(engine);

	stop(engine);
	SSL_CTX_free(redis->tls);
	free(redis);
}

static struct engine *open_redis(const struct engine_setup *setup)
{
	struct redis *redis = calloc(1, sizeof(*redis));

	if (!redis) {
		fputs("hbfollow: out of memory\n", stderr);
		return NULL;
	}
	redis->setup = *setup;
	redis->subscriber = (struct link){ .redis = redis, .name = "subscriber's" };
	redis->commander = (struct link){ .redis = redis, .name = "commander's" };
	if (setup->options->target.tls) {
		redis->tls = tls_open(setup->options);
		if (!redis->tls) {
			free(redis);
			return NULL;
		}
	}
	return (struct engine *)redis;
}

const struct engine_ops redis_ops = {
	.name = "redis",
	.open = open_redis,
	.start = start,
	.ping = ping,
	.proof = proof,
	.delay = delay,
	.is_replica = is_replica,
	.stop = stop,
	.close = close_redis,
};
