// SPDX-License-Identifier: GPL-2.0
/*
 * fill - a page that many want and one makes.
 *
 *	fill
 *
 * Shows the leases of Facebook's memcached, the cure for what is known as a cache
 * stampede: when a page that all want has expired, one of those who miss it gets the
 * right to make it anew, and the others wait for that, or take the old page. Who asks
 * while the page still lives, but not for long, may be sent to make the next one.
 *
 * Relies on: of all who miss a key one has the right to fill at a time; it ends with
 * the first put of the key, when it is given back, or with its lease; an entry beyond
 * its deadline is seen by no get, and for the belt's grace time by a fill that says
 * that an old value will do.
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
#define READERS		8
#define PAGE_MAX	64

static const char usage[] =
	"usage: fill\n"
	"One miss, one fill: a page that many want and one makes.\n";

/**
 * struct crowd - what readers who come together have seen
 * @granted:	how many were to make the page
 * @told:	how many were told that somebody makes it
 * @served:	how many have it in the end
 */
struct crowd {
	unsigned int granted;
	unsigned int told;
	unsigned int served;
};

static struct crowd crowd;

/* Asks for the page; returns what hashbelt_fill() says. */
static int ask(int fd, __u64 wait_ms, __u64 ahead_s, __u32 how,
	       struct hashbelt_fill *fill, char *page)
{
	int err;

	*fill = (struct hashbelt_fill){
		.lease_ms = LEASE_S * 1000, .wait_ms = wait_ms,
		.ahead_ms = ahead_s * 1000, .how = how,
	};
	err = hashbelt_fill(fd, KEY, strlen(KEY), page, PAGE_MAX - 1, fill);
	if (err && err != -ENOENT)
		die("fill", err);
	if (err)
		fill->item.value_len = 0;
	page[fill->item.value_len] = 0;
	return err;
}

static void put_page(int fd, const char *page)
{
	must("put", hashbelt_put(fd, KEY, strlen(KEY), page, strlen(page), NULL));
}

/* Makes the page, which takes until everybody has come. */
static void make_page(int fd)
{
	__atomic_fetch_add(&crowd.granted, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&crowd.granted, __ATOMIC_SEQ_CST) +
	       __atomic_load_n(&crowd.told, __ATOMIC_SEQ_CST) < READERS)
		sched_yield();
	put_page(fd, "page 1");
}

/* One of the crowd: makes the page, or waits for it. */
static void *read_page(void *arg)
{
	struct hashbelt_fill fill;
	int fd = open_belt(BELT);
	char page[PAGE_MAX];

	(void)arg;
	ask(fd, 0, 0, 0, &fill, page);
	if (fill.state & HASHBELT_GRANTED)
		make_page(fd);
	else if (fill.state & HASHBELT_FILLING)
		__atomic_fetch_add(&crowd.told, 1, __ATOMIC_SEQ_CST);
	if (!ask(fd, HASHBELT_TTL_NEVER, 0, 0, &fill, page) && !strcmp(page, "page 1"))
		__atomic_fetch_add(&crowd.served, 1, __ATOMIC_SEQ_CST);
	hashbelt_close(fd);
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
		"one of many who miss fills");
	promise(crowd.served == READERS, "all who wait have what was filled");
}

/* Says what a reader got, and returns that. */
static __u32 show(int fd, const char *who, __u64 ahead_s, __u32 how,
		  struct hashbelt_fill *fill)
{
	char page[PAGE_MAX];
	int err = ask(fd, 0, ahead_s, how, fill, page);

	printf("%s: %s%s%s%s\n", who, err ? "no page" : page,
	       fill->state & HASHBELT_STALE ? ", an old one" : "",
	       fill->state & HASHBELT_GRANTED ? ", is to make one" : "",
	       fill->state & HASHBELT_FILLING ? ", another makes one" : "");
	return fill->state;
}

static void pass_time(int fd, unsigned int seconds)
{
	printf("%u s pass\n", seconds);
	must("advance", hashbelt_advance(fd, seconds * 1000));
}

/* Two readers see that the page has little time left. */
static void refresh_ahead(int fd)
{
	struct hashbelt_fill first, second;

	pass_time(fd, TTL_S - AHEAD_S);
	promise(!show(fd, "Ann", AHEAD_S, 0, &first),
		"a page with enough time left is enough");
	pass_time(fd, 5);
	promise(show(fd, "Ann", AHEAD_S, 0, &first) == HASHBELT_GRANTED &&
		first.item.value_len,
		"one reader is told ahead of time, and has the page");
	promise(!(show(fd, "Bob", AHEAD_S, 0, &second) & HASHBELT_GRANTED) &&
		second.item.value_len,
		"only one reader is told, the others have the page");
	put_page(fd, "page 2");
	promise(!show(fd, "Bob", AHEAD_S, 0, &second) &&
		second.item.ttl_ms == TTL_S * 1000,
		"a page that was made ahead of time has a whole life");
}

/* The page has expired, and an old one will do for the second reader. */
static void take_the_old(int fd)
{
	struct hashbelt_fill first, second;
	char page[PAGE_MAX];

	pass_time(fd, TTL_S + 5);
	promise(hashbelt_get(fd, KEY, strlen(KEY), page, sizeof(page), NULL) == -ENOENT,
		"a get sees nothing at or past its deadline");
	promise(show(fd, "Ann", 0, 0, &first) == HASHBELT_GRANTED,
		"one who misses fills");
	promise(show(fd, "Bob", 0, HASHBELT_STALE, &second) ==
		(HASHBELT_STALE | HASHBELT_FILLING), "the others may take the old page");
	promise(show(fd, "Bob", 0, 0, &second) == HASHBELT_FILLING, "if they say so");
	put_page(fd, "page 3");
	promise(!show(fd, "Bob", 0, HASHBELT_STALE, &second),
		"the new page is not an old one");
}

/* Who was to make the page does not. */
static void fail_to_fill(int fd)
{
	struct hashbelt_fill first, second;

	pass_time(fd, TTL_S + GRACE_S + 10);
	promise(show(fd, "Ann", 0, HASHBELT_STALE, &first) == HASHBELT_GRANTED,
		"after its grace time a page is gone for all");
	must("give up", hashbelt_give_up(fd, KEY, strlen(KEY), first.token));
	printf("Ann gives up\n");
	promise(show(fd, "Bob", 0, 0, &second) == HASHBELT_GRANTED,
		"a right that is given back goes to the next");
	pass_time(fd, LEASE_S);
	promise(show(fd, "Ann", 0, 0, &first) == HASHBELT_GRANTED,
		"a right ends with its lease");
	promise(hashbelt_give_up(fd, KEY, strlen(KEY), second.token) == -ENOENT,
		"who has lost the right cannot give it back");
}

int main(int argc, char **argv)
{
	int fd;

	arguments(argc, argv, 0, usage);
	fd = new_belt(BELT, (struct hashbelt_settings){
		.ttl_ms = TTL_S * 1000,
		.buckets = TTL_S + 1,
		.grace_ms = GRACE_S * 1000,
	});
	printf("--- one miss, one fill\n");
	one_miss_one_fill();
	printf("--- ahead of time\n");
	refresh_ahead(fd);
	printf("--- an old page will do\n");
	take_the_old(fd);
	printf("--- no page\n");
	fail_to_fill(fd);
	must("destroy", hashbelt_destroy(fd, BELT));
	return verdict();
}
