// SPDX-License-Identifier: GPL-2.0-only
/*
 * EVAL, EVALSHA and SCRIPT. There is no Lua: a script of a library that is known by its digest, or
 * whose text has a known form, is carried out by operations of the belt. All others are refused.
 */
#include <openssl/sha.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "array_size.h"
#include "commands.h"
#include "form.h"
#include "refused.h"
#include "script.h"

#define DIGITS	(2 * SHA_DIGEST_LENGTH)

#define NO_SCRIPT	"-NOSCRIPT No matching script. Please use EVAL."
#define UNKNOWN		"-ERR this script is unknown, and hbserve has no Lua"

static const struct script scripts[] = {
	{ "c3f8721cbb97f72bc19e972846bd7aaf91901658", "redis-py, valkey-py: Lock.release", 1, 0,
	  script_delete_equal },
	{ "b70c2384248f88e6b75b9f89241a180f856ad852", "phpredis: unlock a session", 1, 0,
	  script_delete_equal },
	{ "ae3671744a5dbb24ea37ef607b8b10ac7856d43e", "aiocache: RedLock", 1, 0,
	  script_delete_equal },
	{ "647c65a442733a1aa440f99908d249d13b4d6c4a", "Laravel: release a lock", 1, 0,
	  script_delete_equal },
	{ "a50243715157b186c5162c69e02eff3bf0c7994a", "Laravel: leave a funnel", 1, 0,
	  script_delete_equal },
	{ "e4612211c9f8f51c257e26e056b0a654b3187242", "redlock 5: release", 1, 0,
	  script_delete_equal },
	{ "0f0f23b9048b36752b5be114f357ba083449f908", "redlock 4: release", 1, 0,
	  script_delete_equal },
	{ "df51f6837dcfe303d334e6abea9aeae192bab216", "sesamecare redlock: release", 2, 1,
	  script_delete_equal },
	{ "c481d49b4a48e48a9eeacd5d51655b5fcbb19925", "Symfony: look for TIME", 0, 0, script_one },
	{ "6fdee501a3714553b74c0d67687b921b90b05d18", "Symfony: acquire a lock", 3, 1,
	  script_obtain },
	{ "63be12a3515941092212f15c08327d60916de9fa", "Symfony: refresh a lock", 3, 1,
	  script_renew_own },
	{ "a70f7f5087a0cb2c2c9ca50d1f64e234c2628f0c", "Symfony: release a lock", 1, 0,
	  script_leave },
	{ "3b6bdbbe16f821f49177b16c7707f331f015a779", "Symfony: look at a lock", 2, 1,
	  script_is_equal },
	{ "1cac51482acf5858da00f6d685d68f886cd6b6b2", "redis-py, valkey-py: Lock.reacquire", 2, 0,
	  script_renew },
	{ "d5f94f1848f0c54fff99d99dbc4d54184a157c02", "Laravel: refresh a lock", 2, 0,
	  script_expire_equal },
	{ "a4e8783852e6b949f9ef3a97212805108459a890", "redis-py, valkey-py: Lock.extend", 3, 0,
	  script_extend },
	{ "96da70f7716f27d278a5218544df37fd8b0a5e4c", "redlock 5: acquire", 2, 0, script_acquire },
	{ "e5a322e2634ef59a516e8ea150cb085afafee684", "redlock 4: acquire", 2, 0, script_acquire },
	{ "1b77b94aa78451d55dfa97e18819bfbfc596cb5b", "sesamecare redlock: acquire", 3, 1,
	  script_acquire },
	{ "aed6f382e410db8ba7926d4e5e9aab410bf2a78a", "redlock 5: extend", 2, 0,
	  script_extend_all },
	{ "ce46f80993d5dac20dd066eb301a4e37994bdbed", "redlock 4: extend", 2, 0,
	  script_extend_all },
	{ "820e9778d2b6733e9ed771e4be90ae73a95a6f3b", "sesamecare redlock: extend", 3, 1,
	  script_extend_all },
	{ "6d3be821fec3ee441e2e0099186b83490d711fdd", "@redis-kit/lock: acquire", 2, 0,
	  script_acquire_one },
	{ "c2b348917d23acc28b1c31a7efdb419eed04c7f7", "@redis-kit/lock: extend", 2, 0,
	  script_extend_one },
	{ "83ddeb8769fe02bdc67367192ee8a6f61e11a7a8", "@redis-kit/lock: release", 1, 0,
	  script_delete_equal },
	{ "a08c9c69b7c07ae2485190873b90d128a23e502d", "Laravel: add", 2, 0, script_add },
	{ "420ca604de4310d8301943a71390ee669720d640", "Laravel: enter a funnel", 3, 0,
	  script_slot },
	{ "0eafb65e6aa537bcc966e2af2a66dc7f3f66e121", "Medusa: acquire", 3, 0,
	  script_obtain_seconds },
	{ "782e993d12091daacc7a3164ddf5c4624fe56042", "aiocache: cas", 2, 0, script_swap },
	{ "a1de965f42e177aa339706bd580f049065eca79a", "rate-limiter-flexible", 2, 0,
	  script_count_for },
	{ "895b92e1712734e1b464999be23953485475357b", "rate-limit-redis: increment", 1, 0,
	  script_count_window },
	{ "81dbecea94d2d10514719b20ed51faf711529d9d", "rate-limit-redis 4 and 5: increment", 2, 0,
	  script_count_window_again },
	{ "6aeb97ed6086dcdeafdc6fda3999a0d0e38ec96a", "rate-limit-redis: get", 0, 0, script_read },
	{ "628bd136a573a06b346879695681af12ccef300f", "limits: fixed window", 2, 0,
	  script_count_first },
	{ "f2994557f1daca13bfef97c2a31ca4b174e031ca", "limits: reset", 0, 0,
	  script_delete_matching },
	{ "f4a7da3e5d8ea3b46642af08427151cae0190400", "django-redis: incr", 1, 0,
	  script_count_present },
	{ "4d15273b16b10c15e1d9202cbe93c959ab7d250b", "django-redis: incr, also of no key", 1, 0,
	  script_count },
	{ "b8a19d47785922bb04e7a9fdb49e90d89be1b8af", "@fastify/rate-limit: count", 4, 0,
	  script_count_limited },
	{ "4c7d9ef62b3d4f8efd8d11d5d2fd1a56b1e723bc", "@fastify/rate-limit: read", 0, 0,
	  script_count_read },
	{ "ebd682e30de074a6919bde872b507734c7c3ebe5", "throttled: compare and swap", 3, 0,
	  script_swap_equal },
	{ "f1e0da9c495676ab6904eb80db1f2811d5347f58", "@nest-lab/throttler-storage-redis", 4, 1,
	  script_throttle },
};

/* Parts of the forms of scripts. */
#define GET		"redis.call(\"get\",KEYS[1])"
#define DEL		"redis.call(\"del\",KEYS[1])"
#define SET(VALUE)	"redis.call(\"set\",KEYS[1],ARGV[" VALUE "]"
#define SET_NX_PX	SET("1") ",\"NX\",\"PX\",ARGV[2])"
#define EXPIRE		"redis.call(\"expire\",KEYS[1],ARGV[2])"
#define PEXPIRE		"redis.call(\"pexpire\",KEYS[1],ARGV[2])"
#define SETNX		"redis.call(\"setnx\",KEYS[1],ARGV[1])"
#define IF_EQUAL	"if " GET "==ARGV[1]then "
#define IF_THERE	"if redis.call(\"exists\",KEYS[1])==1 then "
#define COUNT		"local$a=redis.call(\"incr\",KEYS[1])"
#define ON_ONE		"if$a==1 then "
#define AND_LEFT	"local$b=redis.call(\"pttl\",KEYS[1])if$b<=0 "
#define SETS_LEFT(N)	"then redis.call(\"pexpire\",KEYS[1],ARGV[" N "])$b=tonumber(ARGV[" N "])"
#define BOTH		"end return{$a,$b}"
#define IF_TIME		"if 1*ARGV[1]~=0 then "
#define SETEX		"redis.call(\"setex\",KEYS[1],ARGV[1],ARGV[3])"

/* Scripts that programs write themselves, each in its own words. Only the first key counts. */
static const struct script forms[] = {
	{ NULL, IF_EQUAL "return " DEL "end return 0", 1, 0, script_delete_equal },
	{ NULL, IF_EQUAL DEL "return 1 end return 0", 1, 0, script_delete_equal },
	{ NULL, "local$a=0 " IF_EQUAL DEL "$a=1 end return$a", 1, 0, script_delete_equal },
	{ NULL, IF_EQUAL "redis.call(\"unlink\",KEYS[1])return true end return false", 1, 0,
	  script_leave },
	{ NULL, IF_EQUAL "return " DEL "elseif " GET "==false then return-1 end return 0", 1, 0,
	  script_release },
	{ NULL, "if " GET "~=ARGV[1]then return " DEL "end return 0", 1, 0, script_delete_other },
	{ NULL, IF_EQUAL SET("2") ")return 1 end return 0", 2, 0, script_set_equal },
	{ NULL, IF_EQUAL "return " PEXPIRE "end return 0", 2, 0, script_renew },
	{ NULL, IF_EQUAL PEXPIRE "return 1 end return 0", 2, 0, script_renew },
	{ NULL, IF_EQUAL PEXPIRE "return true end return false", 2, 0, script_renew_own },
	{ NULL, IF_EQUAL "return " EXPIRE "end return 0", 2, 0, script_renew_seconds },
	{ NULL, IF_EQUAL EXPIRE "return 1 end return 0", 2, 0, script_renew_seconds },
	/* An argument is never equal to a number. */
	{ NULL, "local$a=0 " IF_EQUAL "if ARGV[2]~=-1 then " EXPIRE
	  "else redis.call(\"persist\",KEYS[1])end$a=1 end return$a", 2, 0, script_renew_seconds },
	{ NULL, "local$a=" SETNX "if$a==1 and ARGV[2]~=-1 then " EXPIRE
	  "end return$a", 2, 0, script_acquire_seconds },
	{ NULL, "if " SETNX "==1 then " EXPIRE "return 1 end return 0", 2, 0,
	  script_acquire_seconds },
	{ NULL, "if " SETNX "==1 then " PEXPIRE "return 1 end return 0", 2, 0, script_acquire },
	{ NULL, "if " GET "==ARGV[1]or " SET_NX_PX "then return 1 end return 0", 2, 0,
	  script_claim },
	{ NULL, "return " SET_NX_PX, 2, 0, script_add_ms },
	{ NULL, "return " SET("1") ",\"PX\",ARGV[2],\"NX\")", 2, 0, script_add_ms },
	{ NULL, "return " SET("1") ",\"NX\",\"EX\",ARGV[2])", 2, 0, script_add },
	{ NULL, "return " SET("1") ",\"EX\",ARGV[2],\"NX\")", 2, 0, script_add },
	{ NULL, IF_EQUAL PEXPIRE "return true elseif not " GET "then " SET("1")
	  ",\"PX\",ARGV[2])return true end return false", 2, 0, script_obtain },
	{ NULL, COUNT ON_ONE "redis.call(\"expire\",KEYS[1],ARGV[1])end return$a", 1, 0,
	  script_count_once },
	{ NULL, COUNT ON_ONE "redis.call(\"pexpire\",KEYS[1],ARGV[1])end return$a", 1, 0,
	  script_count_once_ms },
	{ NULL, COUNT AND_LEFT SETS_LEFT("1") BOTH, 1, 0, script_count_for_ms },
	{ NULL, COUNT AND_LEFT "or ARGV[1]==\"1\"" SETS_LEFT("2") BOTH, 2, 0, script_count_again },
	{ NULL, "local$a=tonumber(" GET ")if$a and$a>0 then redis.call(\"decr\",KEYS[1])end", 0, 0,
	  script_count_back },
	{ NULL, IF_THERE "return redis.call(\"decrby\",KEYS[1],ARGV[1])else return\"NEX\"end", 1, 0,
	  script_count_down },
	{ NULL, IF_THERE "return redis.call(\"incrby\",KEYS[1],ARGV[2])end " IF_TIME SETEX
	  "else " SET("3") ")end return 1*ARGV[3]", 3, 0, script_count_from },
};

/* Texts of known forms that clients have sent, by their digests. */
#define LEARNED	256
static struct learned {
	char digest[DIGITS + 1];
	const struct script *script;
} learned[LEARNED];
/* Inside no other lock. */
static pthread_mutex_t learned_lock = PTHREAD_MUTEX_INITIALIZER;

/* The digest of a text, in small letters. */
static void digest_of(const struct word *text, char *digest)
{
	unsigned char bytes[SHA_DIGEST_LENGTH];
	unsigned int i;

	SHA1((const unsigned char *)text->at, text->len, bytes);
	for (i = 0; i < SHA_DIGEST_LENGTH; i++)
		sprintf(digest + 2 * i, "%02x", bytes[i]);
}

/* The only place that a digest may have. */
static struct learned *place_of(const char *digest)
{
	unsigned int hash = 0, i;

	for (i = 0; i < 8; i++)
		hash = hash * 33 + (digest[i] | 0x20);
	return &learned[hash % LEARNED];
}

static const struct script *find_learned(const struct word *digest)
{
	const struct script *script = NULL;
	const struct learned *place;

	if (digest->len != DIGITS)
		return NULL;
	place = place_of(digest->at);
	pthread_mutex_lock(&learned_lock);
	if (place->script && redis_is(digest, place->digest))
		script = place->script;
	pthread_mutex_unlock(&learned_lock);
	return script;
}

static const struct script *find_script(const struct word *digest)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scripts); i++)
		if (redis_is(digest, scripts[i].digest))
			return &scripts[i];
	return find_learned(digest);
}

/* Keeps the digest of a text, in the place of another one. */
static void learn(const char *digest, const struct script *script)
{
	struct learned *place = place_of(digest);

	pthread_mutex_lock(&learned_lock);
	strcpy(place->digest, digest);
	place->script = script;
	pthread_mutex_unlock(&learned_lock);
}

/* The script of a text. @digest: returned */
static const struct script *find_text(const struct word *text, char *digest)
{
	const struct script *script;
	char form[FORM_SIZE];
	unsigned int i;

	digest_of(text, digest);
	script = find_script(&(struct word){ digest, DIGITS });
	if (script || !form_of(text, form))
		return script;
	for (i = 0; i < ARRAY_SIZE(forms); i++)
		if (!strcmp(form, forms[i].library)) {
			learn(digest, &forms[i]);
			return &forms[i];
		}
	return NULL;
}

/* Carries a script out, whose arguments stand behind its text or digest. */
static enum started run(struct work *work, struct redis *redis, const struct script *script)
{
	struct word words[SCRIPT_WORDS];
	unsigned int count = redis_words(redis, words, SCRIPT_WORDS), i;
	struct script_call call = {
		.work = work, .redis = redis, .belt = redis_belt(work, redis), .keys = words + 2,
	};
	int64_t keys;

	if (redis->request.count - 1 > SCRIPT_WORDS)
		return answer_one(work, "-ERR too many keys and arguments");
	if (!script_number(&words[1], &keys))
		return answer_one(work, ERROR_INTEGER);
	if (keys < 0)
		return answer_one(work, "-ERR Number of keys can't be negative");
	if (keys > count - 2)
		return answer_one(work,
				  "-ERR Number of keys can't be greater than number of args");
	if (!keys || count - 2 - keys < script->args)
		return answer_one(work, "-ERR this script needs more keys or arguments");
	for (i = 0; i < keys; i++)
		if (!redis_fits(&call.keys[i]))
			return answer_one(work, ERROR_KEY);
	call.key_count = script->digest ? keys : 1;
	call.args = call.keys + keys + script->first;
	call.arg_count = count - 2 - keys - script->first;
	return script->run(&call);
}

/* The log names a script of a connection once. */
static enum started refuse(struct work *work, struct redis *redis, const char *digest)
{
	refused_log(redis, work->client->fd, &(struct word){ digest, DIGITS },
		    "the script with this digest is of no library that is known");
	return answer_one(work, UNKNOWN);
}

enum started redis_eval(struct work *work, struct redis *redis)
{
	char digest[DIGITS + 1];
	const struct script *script;
	struct word text;

	redis_words(redis, &text, 1);
	script = find_text(&text, digest);
	return script ? run(work, redis, script) : refuse(work, redis, digest);
}

enum started redis_evalsha(struct work *work, struct redis *redis)
{
	const struct script *script;
	struct word digest;

	redis_words(redis, &digest, 1);
	script = find_script(&digest);
	return script ? run(work, redis, script) : answer_one(work, NO_SCRIPT);
}

static enum started load(struct work *work, struct redis *redis, const struct word *text)
{
	struct answer answer = answer_begin(work);
	char digest[DIGITS + 1];

	if (!find_text(text, digest))
		return refuse(work, redis, digest);
	answer_text(&answer, digest);
	return answer_end(&answer);
}

static enum started exist(struct work *work, const struct word *digests, unsigned int count)
{
	struct answer answer = answer_begin(work);
	unsigned int i;

	answer_number(&answer, '*', count);
	for (i = 0; i < count; i++)
		answer_number(&answer, ':', !!find_script(&digests[i]));
	return answer_end(&answer);
}

/* SCRIPT LOAD, EXISTS and FLUSH, after which the known scripts are known still. */
enum started redis_script(struct work *work, struct redis *redis)
{
	struct word words[SCRIPT_WORDS];
	unsigned int count = redis_words(redis, words, SCRIPT_WORDS);

	if (redis_is(&words[0], "load") && count == 2)
		return load(work, redis, &words[1]);
	if (redis_is(&words[0], "exists") && count > 1)
		return exist(work, words + 1, count - 1);
	if (redis_is(&words[0], "flush"))
		return answer_one(work, "+OK");
	return answer_error(work, "ERR unknown subcommand '%.*s'. Try SCRIPT HELP.",
			    words[0].len < 64 ? (int)words[0].len : 64, words[0].at);
}
