// SPDX-License-Identifier: GPL-2.0-only
/*
 * hashbelt_user - a module that uses hashbelt through hashbelt_core.h.
 *
 * It finds entries under RCU while they leave, and is called back as they expire, in its init
 * function. A check that fails is printed to the kernel's log, and the module is not loaded. A
 * loaded module keeps a running belt until it is removed. Results of the functions: tests/kunit.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "hashbelt_core.h"

#define ENTRIES		100u
#define ROUNDS		3
#define TIMEOUT	(60 * HZ)

/* A module can use each of these. */
static const void *const exported[] __used = {
	hashbelt_add, hashbelt_advance, hashbelt_clear, hashbelt_client_close, hashbelt_client_new,
	hashbelt_client_put, hashbelt_create, hashbelt_describe_event, hashbelt_destroy,
	hashbelt_entry_alloc, hashbelt_expire, hashbelt_fill, hashbelt_fill_fail,
	hashbelt_fill_renew, hashbelt_find, hashbelt_flush, hashbelt_give_up, hashbelt_halt,
	hashbelt_hit, hashbelt_info, hashbelt_lock, hashbelt_miss, hashbelt_now, hashbelt_put,
	hashbelt_query, hashbelt_release_owner, hashbelt_remove, hashbelt_renew, hashbelt_request,
	hashbelt_request_alloc, hashbelt_request_key, hashbelt_settle_completed,
	hashbelt_take_completed, hashbelt_touch, hashbelt_unlock,
};

static unsigned int wrong;

/* A check: if it fails, it is counted and printed to the kernel's log. */
#define is_so(condition)						\
do {									\
	if (!(condition)) {						\
		pr_err("line %d: not so: %s\n", __LINE__, #condition);	\
		wrong++;						\
	}								\
} while (0)

static struct hashbelt_belt *belt_of(struct hashbelt_config config)
{
	struct hashbelt_belt *belt = hashbelt_create(&config);

	is_so(!IS_ERR(belt));
	return belt;
}

/* Puts an entry whose value is its key. */
static int put(struct hashbelt_belt *belt, u32 key)
{
	struct hashbelt_item item = {};
	struct hashbelt_entry *entry;

	entry = hashbelt_entry_alloc(belt, NULL, sizeof(key), sizeof(key));
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	memcpy(entry->data, &key, sizeof(key));
	memcpy(hashbelt_entry_value(entry), &key, sizeof(key));
	return hashbelt_put(belt, entry, &item);
}

/**
 * struct leaver - work that takes an entry away while it is read
 * @work:	work item, which may run on another processor
 * @belt:	the entry's belt
 * @destroy:	destroy the belt, which has only that entry; otherwise remove the entry
 */
struct leaver {
	struct work_struct work;
	struct hashbelt_belt *belt;
	bool destroy;
};

static const u32 read_key = 1;

static void take_away(struct work_struct *work)
{
	struct leaver *leaver = container_of(work, struct leaver, work);
	struct hashbelt_item item = {};

	if (leaver->destroy)
		hashbelt_destroy(leaver->belt);
	else
		is_so(!hashbelt_remove(leaver->belt, &read_key, sizeof(read_key), &item));
}

/*
 * A reader in an RCU critical section may use an entry and its belt, though the entry is removed
 * or the belt destroyed meanwhile. The belt wipes an entry when it frees it. Without the critical
 * section the delay would be long enough for that.
 */
static void read_while_leaving(struct workqueue_struct *workers, bool destroy)
{
	struct hashbelt_belt *belt = belt_of((struct hashbelt_config){ .policy = HASHBELT_WIPE });
	struct leaver leaver = { .belt = belt, .destroy = destroy };
	struct hashbelt_entry *entry;

	if (IS_ERR(belt))
		return;
	INIT_WORK_ONSTACK(&leaver.work, take_away);
	is_so(!put(belt, read_key));
	rcu_read_lock();
	entry = hashbelt_find(belt, &read_key, sizeof(read_key), hashbelt_now(belt), NULL);
	queue_work(workers, &leaver.work);
	mdelay(50);
	is_so(entry && !memcmp(entry->data, &read_key, sizeof(read_key)));
	is_so(hb_wipes(belt));
	rcu_read_unlock();
	flush_work(&leaver.work);
	destroy_work_on_stack(&leaver.work);
	if (!destroy)
		hashbelt_destroy(belt);
}

static void read_under_rcu(void)
{
	struct workqueue_struct *workers = alloc_workqueue("hashbelt_user", WQ_UNBOUND, 0);

	is_so(workers);
	if (!workers)
		return;
	read_while_leaving(workers, false);
	read_while_leaving(workers, true);
	destroy_workqueue(workers);
}

/**
 * struct event_log - the events of a belt
 * @belt:	the belt
 * @count:	number of events
 * @sequence:	sequence number of the last event
 * @lost:	number of events that were reported as lost
 * @missing:	numbers that no event had
 * @rounds:	completed when all entries have expired ROUNDS times
 * @leaving:	the belt is about to be destroyed: the next callback sleeps
 * @inside:	completed when that callback has begun
 *
 * Only the callback uses @count to @missing, and the belt calls it once at a time.
 */
static struct event_log {
	struct hashbelt_belt *belt;
	unsigned int count;
	u64 sequence;
	u64 lost;
	u64 missing;
	struct completion rounds;
	bool leaving;
	struct completion inside;
} event_log;

/* Called by the belt for each expired entry. A callback may sleep. */
static void on_event(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		     const struct hashbelt_event *event, void *arg)
{
	struct event_log *to = arg;

	might_sleep();
	is_so(event->reason == HASHBELT_EXPIRED && event->key_len == sizeof(u32));
	is_so(event->handed_ns >= event->deadline_ns);
	/* Another task may set a limit at which there is no memory for a report. */
	to->lost += event->lost;
	to->missing += event->sequence - to->sequence - 1;
	is_so(event->sequence > to->sequence && to->missing <= to->lost);
	is_so(!memcmp(entry->data, hashbelt_entry_value(entry), sizeof(u32)));
	to->sequence = event->sequence;
	if (++to->count == ROUNDS * ENTRIES)
		complete(&to->rounds);
	if (READ_ONCE(to->leaving) && !completion_done(&to->inside)) {
		complete_all(&to->inside);
		msleep(100);
	}
}

/* Makes a running belt that reinserts its entries, and waits for ROUNDS rounds. */
static void use_events(void)
{
	u32 key;

	init_completion(&event_log.rounds);
	init_completion(&event_log.inside);
	event_log.belt = belt_of((struct hashbelt_config){
		.ttl = 50 * NSEC_PER_MSEC, .handler = HASHBELT_REINSERT,
		.event = on_event, .arg = &event_log,
	});
	if (IS_ERR(event_log.belt))
		return;
	for (key = 0; key < ENTRIES; key++)
		is_so(!put(event_log.belt, key));
	is_so(wait_for_completion_timeout(&event_log.rounds, TIMEOUT));
}

/*
 * No callback runs after this returns. One that has begun before, and sleeps, is waited for.
 */
static void give_up(void)
{
	if (IS_ERR_OR_NULL(event_log.belt))
		return;
	WRITE_ONCE(event_log.leaving, true);
	wait_for_completion_timeout(&event_log.inside, TIMEOUT);
	hashbelt_destroy(event_log.belt);
	hashbelt_flush();
}

static int __init hashbelt_user_init(void)
{
	read_under_rcu();
	use_events();
	if (!wrong)
		return 0;
	give_up();
	return -EIO;
}
module_init(hashbelt_user_init);

static void __exit hashbelt_user_exit(void)
{
	give_up();
}
module_exit(hashbelt_user_exit);

MODULE_DESCRIPTION("A module that uses hashbelt");
MODULE_LICENSE("GPL");
