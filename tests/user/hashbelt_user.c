// SPDX-License-Identifier: GPL-2.0-only
/*
 * hashbelt_user - a module that uses hashbelt through hashbelt_core.h.
 *
 * It puts entries and finds them under RCU, is called back as they expire, takes locks, fills
 * missing keys, and waits for keys. It does all that in its init function. A check that fails
 * is printed to the kernel's log, and the module is not loaded. A loaded module keeps a
 * running belt until it is removed.
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

/* An entry whose value is its key; or an error. */
static struct hashbelt_entry *new_entry(struct hashbelt_belt *belt, u32 key)
{
	struct hashbelt_entry *entry;

	entry = hashbelt_entry_alloc(belt, NULL, sizeof(key), sizeof(key));
	if (IS_ERR(entry))
		return entry;
	memcpy(entry->data, &key, sizeof(key));
	memcpy(hashbelt_entry_value(entry), &key, sizeof(key));
	return entry;
}

static int put(struct hashbelt_belt *belt, u32 key, u32 how, u64 ttl_ms)
{
	struct hashbelt_item item = { .how = how, .ttl_ms = ttl_ms };
	struct hashbelt_entry *entry = new_entry(belt, key);

	return IS_ERR(entry) ? PTR_ERR(entry) : hashbelt_put(belt, entry, &item);
}

/* Return: true if a key is found with its value. */
static bool get(struct hashbelt_belt *belt, u32 key)
{
	u64 now = hashbelt_now(belt);
	struct hashbelt_item item = {};
	struct hashbelt_entry *entry;
	bool found = false;
	u32 gone;

	rcu_read_lock();
	entry = hashbelt_find(belt, &key, sizeof(key), now, &gone);
	if (!entry)
		hashbelt_miss(belt, &key, sizeof(key), gone);
	else
		found = hashbelt_hit(belt, entry, &item, now) &&
			item.value_len == sizeof(key) &&
			!memcmp(hashbelt_entry_value(entry), &key, sizeof(key));
	rcu_read_unlock();
	return found;
}

static void use_entries(void)
{
	struct hashbelt_belt *belt = belt_of((struct hashbelt_config){ .ttl = NSEC_PER_SEC });
	struct hashbelt_item item = {};
	struct hashbelt_info info = {};
	struct hashbelt_sum sum = { .by = 2, .value = 40 };
	u32 key;

	if (IS_ERR(belt))
		return;
	hashbelt_halt(belt);
	for (key = 0; key < ENTRIES; key++)
		is_so(!put(belt, key, 0, 0));
	is_so(put(belt, 0, HASHBELT_IF_ABSENT, 0) == -EEXIST);
	key = 1;
	is_so(!hashbelt_remove(belt, &key, sizeof(key), &item) && !get(belt, key));
	key = 2;
	is_so(!hashbelt_expire(belt, &key, sizeof(key)) && !get(belt, key));
	key = 3;
	is_so(!hashbelt_advance(belt, NSEC_PER_SEC - 1) && get(belt, key));
	item.ttl_ms = 5000;
	is_so(!hashbelt_touch(belt, &key, sizeof(key), &item));
	is_so(!hashbelt_advance(belt, NSEC_PER_SEC) && get(belt, key));
	is_so(!get(belt, 4));
	hashbelt_info(belt, &info);
	is_so(info.entries == 1);
	is_so(!hashbelt_add(belt, "sum", 3, &item, &sum) && sum.value == 42);
	hashbelt_clear(belt);
	is_so(!get(belt, key));
	hashbelt_destroy(belt);
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
	is_so(!put(belt, read_key, 0, 0));
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
		is_so(!put(event_log.belt, key, 0, 0));
	is_so(wait_for_completion_timeout(&event_log.rounds, TIMEOUT));
}

static void use_locks(void)
{
	struct hashbelt_belt *belt = belt_of((struct hashbelt_config){
		.policy = HASHBELT_PINNED });
	struct hashbelt_lock lock = { .key_len = 4, .owner_len = 5, .ttl_ms = 1000 };
	char owner[HASHBELT_OWNER_MAX];
	u64 token;

	if (IS_ERR(belt))
		return;
	hashbelt_halt(belt);
	is_so(!hashbelt_lock(belt, NULL, "lock", "alice", &lock));
	token = lock.token;
	is_so(!hashbelt_query(belt, "lock", owner, &lock) && lock.owner_len == 5 &&
	      !memcmp(owner, "alice", 5));
	is_so(hashbelt_lock(belt, NULL, "lock", "carol", &lock) == -EBUSY);
	is_so(!hashbelt_renew(belt, "lock", "alice", &lock));
	is_so(!hashbelt_unlock(belt, "lock", "alice", &lock));
	is_so(!hashbelt_lock(belt, NULL, "lock", "carol", &lock) && lock.token > token);
	is_so(!hashbelt_release_owner(belt, "carol", &lock) && lock.count == 1);
	is_so(hashbelt_query(belt, "lock", owner, &lock) == -ENOENT);
	hashbelt_destroy(belt);
}

/* Registers a request, which a put completes. */
static void wait_for_key(struct hashbelt_belt *belt, struct hb_client *client, u32 key)
{
	struct hashbelt_entry *request;
	struct hashbelt_event record;
	struct hb_fifo events = {};

	request = hashbelt_request_alloc(belt, client, 7, 1, sizeof(key));
	is_so(!IS_ERR(request));
	if (IS_ERR(request))
		return;
	memcpy(hashbelt_request_key(request, 0, 0, sizeof(key)), &key, sizeof(key));
	is_so(!hashbelt_request(belt, request, 1000));
	is_so(hashbelt_take_completed(client, &events, SIZE_MAX, 1) == -EAGAIN);
	is_so(!put(belt, key, 0, 0));
	is_so(!hashbelt_take_completed(client, &events, SIZE_MAX, 1));
	if (!events.count)
		return;
	hashbelt_describe_event(events.first, &record);
	is_so(record.reason == HASHBELT_BY_PUT && record.id == 7);
	hashbelt_settle_completed(belt, &events);
}

/* One caller gets the fill lease; a put ends the lease. */
static void fill_key(struct hashbelt_belt *belt, u32 key)
{
	struct hashbelt_fill fill = {}, other = {};

	is_so(!hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, false));
	is_so(hashbelt_fill(belt, NULL, &key, sizeof(key), &other, false) == -EBUSY);
	is_so(!put(belt, key, 0, 0) && get(belt, key));
	is_so(hashbelt_fill(belt, NULL, &key, sizeof(key), &other, false) == -EAGAIN);
	is_so(hashbelt_give_up(belt, &key, sizeof(key), fill.token) == -ENOENT);
}

/* Puts an entry on condition of a fill lease. */
static int put_filled(struct hashbelt_belt *belt, u32 key, u64 token)
{
	struct hashbelt_item item = { .how = HASHBELT_IF_LEASE, .version = token };
	struct hashbelt_entry *entry = new_entry(belt, key);

	return IS_ERR(entry) ? PTR_ERR(entry) : hashbelt_put(belt, entry, &item);
}

/* A value that is computed before its key is removed is not stored after that. */
static void fill_key_in_time(struct hashbelt_belt *belt, u32 key)
{
	struct hashbelt_fill fill = {}, other = {};
	struct hashbelt_item item = {};

	is_so(!hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, false));
	is_so(hashbelt_remove(belt, &key, sizeof(key), &item) == -ENOENT);
	is_so(put_filled(belt, key, fill.token) == -ESTALE && !get(belt, key));
	is_so(!hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, false));
	is_so(!hashbelt_fill_renew(belt, &key, sizeof(key), &fill));
	is_so(!put_filled(belt, key, fill.token) && get(belt, key));
	is_so(hashbelt_fill_renew(belt, &key, sizeof(key), &fill) == -ENOENT);
	is_so(!hashbelt_remove(belt, &key, sizeof(key), &item));
	is_so(!hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, false));
	is_so(!hashbelt_fill_fail(belt, &key, sizeof(key), &fill));
	is_so(hashbelt_fill(belt, NULL, &key, sizeof(key), &other, false) == -EKEYREJECTED);
}

static void wait_and_fill(void)
{
	struct hashbelt_belt *belt = belt_of((struct hashbelt_config){});
	struct hb_client *client;

	if (IS_ERR(belt))
		return;
	hashbelt_halt(belt);
	client = hashbelt_client_new(belt);
	is_so(client);
	if (client) {
		wait_for_key(belt, client, 1);
		hashbelt_client_close(belt, client);
		hashbelt_client_put(client);
	}
	fill_key(belt, 2);
	fill_key_in_time(belt, 3);
	hashbelt_destroy(belt);
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
	use_entries();
	read_under_rcu();
	use_events();
	use_locks();
	wait_and_fill();
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
