// SPDX-License-Identifier: GPL-2.0-only
/*
 * fill - a page that many readers want and one reader makes.
 *
 *	fill
 *
 * Shows the leases of Facebook's memcached, which prevent a cache stampede. When a page
 * that many readers want has expired, one reader gets the fill lease and makes the page
 * anew. The others wait for it, or take the old page. A reader that asks shortly before
 * the page expires may get the fill lease ahead of time. A page that was made from old news is
 * not stored once an editor has removed it. A reader that cannot make the page tells the others.
 *
 * Relies on: of all readers that miss a key, one has the fill lease at a time; the lease
 * ends with a put, a remove, an expire or a clear of the key, when it is given up, or at its
 * own end; a put on condition of a lease that has ended stores nothing; no get
 * returns an entry at or past its deadline, and a fill that accepts an old value returns
 * one for the belt's grace time.
 */
#include <pthread.h>
#include <sched.h>

#include "example.h"

#define BELT		"example-fill"
#define KEY		"front-page"
#define TTL_S		60
#define GRACE_S		30
#define LEASE_S		10
#define AHEAD_S		15
#define RETRY_S		20
#define READERS		8
#define PAGE_MAX	64

static const char usage[] =
	"usage: fill\n"
	"One miss, one fill: a page that many readers want and one makes.\n";

/**
 * struct crowd - the results of readers that ask at the same time
 * @granted:	number of readers that got the fill lease
 * @told:	number of readers that were told that another reader fills
 * @served:	number of readers that have the page in the end
 */
struct crowd {
	unsigned int granted;
	unsigned int told;
	unsigned int served;
};

static struct crowd crowd;

/* Asks for the page; returns the result of hashbelt_fill(). */
static int ask(struct hashbelt *belt, __u64 wait_ms, __u64 ahead_s, __u32 how,
	       struct hashbelt_fill *fill, char *page)
{
	int err;

	*fill = (struct hashbelt_fill){
		.lease_ms = LEASE_S * 1000, .wait_ms = wait_ms,
		.ahead_ms = ahead_s * 1000, .how = how,
	};
	err = hashbelt_fill(belt, KEY, strlen(KEY), page, PAGE_MAX - 1, fill);
	if (err && err != -ENOENT)
		die("fill", err);
	if (err)
		fill->item.value_len = 0;
	page[fill->item.value_len] = 0;
	return err;
}

/* Stores a page that was made under a fill lease; false if that has ended. */
static bool put_page(struct hashbelt *belt, const char *page, const struct hashbelt_fill *fill)
{
	int err = hashbelt_fill_put(belt, KEY, strlen(KEY), page, strlen(page), fill->token, NULL);

	if (err != -ESTALE)
		must("put", err);
	return !err;
}

/* Makes the page, once all readers have asked for it. */
static void make_page(struct hashbelt *belt, const struct hashbelt_fill *fill)
{
	__atomic_fetch_add(&crowd.granted, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&crowd.granted, __ATOMIC_SEQ_CST) +
	       __atomic_load_n(&crowd.told, __ATOMIC_SEQ_CST) < READERS)
		sched_yield();
	promise(put_page(belt, "page 1", fill), "a page is stored while its fill lease lasts");
}

/* One of the crowd: makes the page, or waits for it. */
static void *read_page(void *arg)
{
	struct hashbelt_fill fill;
	struct hashbelt *belt = open_belt(BELT);
	char page[PAGE_MAX];

	(void)arg;
	ask(belt, 0, 0, 0, &fill, page);
	if (fill.state & HASHBELT_GRANTED)
		make_page(belt, &fill);
	else if (fill.state & HASHBELT_FILLING)
		__atomic_fetch_add(&crowd.told, 1, __ATOMIC_SEQ_CST);
	if (!ask(belt, HASHBELT_TTL_NEVER, 0, 0, &fill, page) && !strcmp(page, "page 1"))
		__atomic_fetch_add(&crowd.served, 1, __ATOMIC_SEQ_CST);
	hashbelt_close(belt);
	return NULL;
}

static void one_miss_one_fill(void)
{
	pthread_t threads[READERS];
	unsigned int i;

	for (i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, read_page, NULL))
			die("thread", -EAGAIN);
	for (i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	printf("readers %u made the page %u were told to wait %u have it %u\n", READERS,
	       crowd.granted, crowd.told, crowd.served);
	promise(crowd.granted == 1 && crowd.told == READERS - 1,
		"one of eight readers that miss gets the fill lease");
	promise(crowd.served == READERS, "each waiting reader gets the page");
}

/* Asks for the page, prints the answer and returns its state. */
static __u32 show(struct hashbelt *belt, const char *who, __u64 ahead_s, __u32 how,
		  struct hashbelt_fill *fill)
{
	char page[PAGE_MAX];
	int err = ask(belt, 0, ahead_s, how, fill, page);

	printf("%s: %s%s%s%s%s\n", who, err ? "no page" : page,
	       fill->state & HASHBELT_STALE ? ", an old one" : "",
	       fill->state & HASHBELT_GRANTED ? ", is to make one" : "",
	       fill->state & HASHBELT_FILLING ? ", another makes one" : "",
	       fill->state & HASHBELT_FAILED ? ", and none can be made" : "");
	return fill->state;
}

static void pass_time(struct hashbelt *belt, unsigned int seconds)
{
	printf("%u s pass\n", seconds);
	must("advance", hashbelt_advance(belt, seconds * 1000));
}

/* Two readers ask for a page that expires soon. */
static void refresh_ahead(struct hashbelt *belt)
{
	struct hashbelt_fill first, second;

	pass_time(belt, TTL_S - AHEAD_S);
	promise(!show(belt, "Ann", AHEAD_S, 0, &first),
		"no fill lease is granted while the page has enough time left");
	pass_time(belt, 5);
	promise(show(belt, "Ann", AHEAD_S, 0, &first) == HASHBELT_GRANTED &&
		first.item.value_len,
		"one reader gets the fill lease ahead of time, and the page");
	promise(!(show(belt, "Bob", AHEAD_S, 0, &second) & HASHBELT_GRANTED) &&
		second.item.value_len,
		"other readers get the page and no fill lease");
	put_page(belt, "page 2", &first);
	promise(!show(belt, "Bob", AHEAD_S, 0, &second) &&
		second.item.ttl_ms == TTL_S * 1000,
		"a page that is put ahead of time has the belt's full time-to-live");
}

/* The page has expired; the second reader accepts an old one. */
static void take_the_old(struct hashbelt *belt)
{
	struct hashbelt_fill first, second;
	char page[PAGE_MAX];

	pass_time(belt, TTL_S + 5);
	promise(hashbelt_get(belt, KEY, strlen(KEY), page, sizeof(page), NULL) == -ENOENT,
		"get on an expired page returns ENOENT");
	promise(show(belt, "Ann", 0, 0, &first) == HASHBELT_GRANTED,
		"the first reader that misses gets the fill lease");
	promise(show(belt, "Bob", 0, HASHBELT_STALE, &second) ==
		(HASHBELT_STALE | HASHBELT_FILLING),
		"a reader that accepts an old page gets it");
	promise(show(belt, "Bob", 0, 0, &second) == HASHBELT_FILLING,
		"a reader that does not accept an old page gets none");
	put_page(belt, "page 3", &first);
	promise(!show(belt, "Bob", 0, HASHBELT_STALE, &second),
		"a page that was just put is not reported as old");
}

/* The reader with the fill lease does not make the page. */
static void fail_to_fill(struct hashbelt *belt)
{
	struct hashbelt_fill first, second;

	pass_time(belt, TTL_S + GRACE_S + 10);
	promise(show(belt, "Ann", 0, HASHBELT_STALE, &first) == HASHBELT_GRANTED,
		"after its grace time a page is gone for every reader");
	must("give up", hashbelt_give_up(belt, KEY, strlen(KEY), first.token));
	printf("Ann gives up\n");
	promise(show(belt, "Bob", 0, 0, &second) == HASHBELT_GRANTED,
		"a fill lease that is given up goes to the next reader");
	pass_time(belt, LEASE_S);
	promise(show(belt, "Ann", 0, 0, &first) == HASHBELT_GRANTED,
		"a fill lease that is over goes to the next reader");
	promise(hashbelt_give_up(belt, KEY, strlen(KEY), second.token) == -ENOENT,
		"give_up with an ended lease's token returns ENOENT");
}

/* An editor removes the page while a reader makes it from news that are old by then. */
static void refuse_the_late(struct hashbelt *belt)
{
	struct hashbelt_fill first, second;
	char page[PAGE_MAX];

	hashbelt_remove(belt, KEY, strlen(KEY), NULL);
	show(belt, "Ann", 0, 0, &first);
	printf("the editor removes the page\n");
	promise(hashbelt_remove(belt, KEY, strlen(KEY), NULL) == -ENOENT,
		"remove of a page that is being made returns ENOENT");
	promise(show(belt, "Bob", 0, 0, &second) == HASHBELT_GRANTED,
		"a remove ends the fill lease, and the next reader gets one");
	promise(!put_page(belt, "page of old news", &first),
		"a page that was made before a remove is not stored after it");
	printf("Ann is late: the page of old news is not stored\n");
	promise(put_page(belt, "page of new news", &second) &&
		!hashbelt_get(belt, KEY, strlen(KEY), page, sizeof(page), NULL) &&
		!strncmp(page, "page of new news", strlen("page of new news")),
		"the page of the reader that has the fill lease is stored");
	show(belt, "Ann", 0, 0, &first);
}

/* A reader takes longer than its lease, and then cannot make the page. */
static void renew_and_fail(struct hashbelt *belt)
{
	struct hashbelt_fill first, second;
	int i;

	hashbelt_remove(belt, KEY, strlen(KEY), NULL);
	show(belt, "Ann", 0, 0, &first);
	for (i = 0; i < 3; i++) {
		pass_time(belt, LEASE_S - 1);
		must("renew", hashbelt_fill_renew(belt, KEY, strlen(KEY), first.token,
						  LEASE_S * 1000));
	}
	promise(show(belt, "Bob", 0, 0, &second) == HASHBELT_FILLING,
		"a fill lease that is renewed in time does not end");
	must("fail", hashbelt_fill_fail(belt, KEY, strlen(KEY), first.token, RETRY_S * 1000));
	printf("Ann cannot make the page\n");
	promise(show(belt, "Bob", 0, 0, &second) == HASHBELT_FAILED,
		"other readers learn that the page cannot be made");
	pass_time(belt, RETRY_S + 1);
	promise(show(belt, "Bob", 0, 0, &second) == HASHBELT_GRANTED,
		"after the time that the failure lasts, a reader gets a fill lease");
}

int main(int argc, char **argv)
{
	struct hashbelt *belt;

	arguments(argc, argv, 0, usage);
	belt = new_belt(BELT, (struct hashbelt_settings){
		.ttl_ms = TTL_S * 1000,
		.buckets = TTL_S + 1,
		.grace_ms = GRACE_S * 1000,
	});
	printf("--- one miss, one fill\n");
	one_miss_one_fill();
	printf("--- ahead of time\n");
	refresh_ahead(belt);
	printf("--- an old page will do\n");
	take_the_old(belt);
	printf("--- no page\n");
	fail_to_fill(belt);
	printf("--- a page of old news\n");
	refuse_the_late(belt);
	printf("--- a long time, and a failure\n");
	renew_and_fail(belt);
	must("destroy", hashbelt_destroy(belt, BELT));
	return verdict();
}
