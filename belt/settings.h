/* SPDX-License-Identifier: GPL-2.0-only */
/* The settings of a belt, and the rest that it is made with. */
#ifndef _HASHBELT_SETTINGS_H
#define _HASHBELT_SETTINGS_H

#include <linux/stddef.h>
#include <linux/time64.h>

#include "hashbelt.h"

struct hashbelt_belt;
struct hashbelt_entry;
struct hb_account;

#define HASHBELT_BUCKETS_DEFAULT	3
#define HASHBELT_TTL_DEFAULT		(300 * NSEC_PER_SEC)

/**
 * struct hashbelt_config - what a belt is made with
 * @ttl:	nanoseconds, up to HASHBELT_TTL_MAX_MS; 0 for 5 minutes
 * @grace:	how long entries stay beyond their deadlines, nanoseconds
 * @policy:	HASHBELT_REFRESH_ON_GET to HASHBELT_WIPE
 * @handler:	HASHBELT_DROP, HASHBELT_NOTIFY or HASHBELT_REINSERT: for expired entries
 * @reasons:	HASHBELT_REPORT() bits: the reported reasons, unless @handler is HASHBELT_DROP; 0:
 *		HASHBELT_REPORT_DEFAULT
 * @buckets:	HASHBELT_BUCKETS_MIN to HASHBELT_BUCKETS_MAX; 0 for 3
 * @max_entries: most entries, 0 for no limit
 * @max_bytes:	most bytes, 0 for no limit
 * @max_events:	most events that wait, 0 for HASHBELT_EVENTS_DEFAULT
 * @window_bytes: memory of the window, 0 for none
 * @settings:	all of the above as one structure, of which the belt has a copy; hb_set() changes
 *		them
 * @event:	called once for each event, in their order, in process context, with no lock held
 *		that an operation on the belt's entries needs (it must not move the belt's time,
 *		change its settings or destroy it); entry and event are valid until it returns.
 *		NULL: events wait for hb_take_events()
 * @arg:	passed to @event
 * @account:	charged for the memory, or NULL
 * @overwrites:	puts may overwrite the values of entries: not on a belt whose module reads values
 *		under RCU, or with a reference
 */
struct hashbelt_config {
	struct_group_tagged(hb_settings, settings,
		u64 ttl;
		u64 grace;
		u32 policy;
		u32 handler;
		u32 reasons;
		u32 buckets;
		u64 max_entries;
		u64 max_bytes;
		u64 max_events;
		u64 window_bytes;
	);
	void (*event)(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		      const struct hashbelt_event *event, void *arg);
	void *arg;
	struct hb_account *account;
	bool overwrites;
};

/*
 * The members of struct hb_settings. A row has the bit HASHBELT_SET_*, the member of struct
 * hashbelt_settings and struct hashbelt_info, and functions of set.c: how it is taken from there,
 * which values may be, the value in the place of 0, and how it is shown there. PLAIN: a change is
 * a mere store. A simple number is SETTING(name, NAME, name, same, any, same, same, PLAIN).
 */
#define HB_SETTINGS(SETTING)								\
	SETTING(ttl, TTL, ttl_ms, ns_of, is_time, given_ttl, ms_of, SPECIAL)		\
	SETTING(grace, GRACE, grace_ms, ns_of, is_time, same, ms_of, SPECIAL)		\
	SETTING(policy, POLICY, policy, same, is_policy, same, same, SPECIAL)		\
	SETTING(handler, HANDLER, handler, same, is_handler, same, same, PLAIN)		\
	SETTING(reasons, REASONS, reasons, same, are_reasons, given_reasons, same, PLAIN) \
	SETTING(buckets, BUCKETS, buckets, same, are_buckets, given_buckets, same, SPECIAL) \
	SETTING(max_entries, MAX_ENTRIES, max_entries, same, any, limit_of, same, PLAIN) \
	SETTING(max_bytes, MAX_BYTES, max_bytes, same, any, limit_of, same, PLAIN)	\
	SETTING(max_events, MAX_EVENTS, max_events, same, any, given_events, same, PLAIN) \
	SETTING(window_bytes, WINDOW, window_bytes, same, hb_window_is_size, same, same, SPECIAL)

#endif /* _HASHBELT_SETTINGS_H */
