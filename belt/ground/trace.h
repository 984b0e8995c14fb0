/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace points. docs/design.md documents names and fields. The field belt is the belt's id, as
 * HASHBELT_IOC_INFO returns it.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hashbelt

#if !defined(_HASHBELT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _HASHBELT_TRACE_H

#include <linux/cred.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uidgid.h>

#include "entry.h"

/* An event about the key at @key_bytes, with @fields besides belt, version and key. */
#define HB_KEY_EVENT(event, proto, args, version_, key_bytes, key_len, fields, assign, print)	\
TRACE_EVENT(event, TP_PROTO(proto), TP_ARGS(args),						\
	TP_STRUCT__entry(									\
		__field(u64, belt)								\
		__field(u64, version)								\
		fields										\
		__dynamic_array(u8, key, key_len)						\
	),											\
	TP_fast_assign(										\
		__entry->belt = belt;								\
		__entry->version = version_;							\
		assign;										\
		memcpy(__get_dynamic_array(key), key_bytes, __get_dynamic_array_len(key));	\
	),											\
	PARAMS(print)										\
)

#define HB_PRINT_KEY(format, ...)								\
	TP_printk("belt=%llu key=%s " format, __entry->belt,					\
		  __print_hex_str(__get_dynamic_array(key), __get_dynamic_array_len(key)),	\
		  __VA_ARGS__)

HB_KEY_EVENT(hashbelt_put,
	PARAMS(u64 belt, const struct hashbelt_entry *of, int err), PARAMS(belt, of, err),
	err ? 0 : of->version, of->data, of->key_len,
	__field(u32, value_len) __field(int, err),
	__entry->value_len = of->value_len; __entry->err = err,
	HB_PRINT_KEY("value_len=%u version=%llu err=%d", __entry->value_len, __entry->version,
		     __entry->err)
);

HB_KEY_EVENT(hashbelt_get,
	PARAMS(u64 belt, const void *bytes, u32 len, u64 found, u32 gone),
	PARAMS(belt, bytes, len, found, gone),
	found, bytes, len,
	__field(u32, gone),
	__entry->gone = gone,
	HB_PRINT_KEY("hit=%d version=%llu gone=%u", __entry->version != 0, __entry->version,
		     __entry->gone)
);

HB_KEY_EVENT(hashbelt_expire,
	PARAMS(u64 belt, const struct hashbelt_entry *of, s64 late_ns), PARAMS(belt, of, late_ns),
	of->version, of->data, of->key_len,
	__field(s64, late_ns),
	__entry->late_ns = late_ns,
	HB_PRINT_KEY("version=%llu late_ns=%lld", __entry->version, __entry->late_ns)
);

HB_KEY_EVENT(hashbelt_evict,
	PARAMS(u64 belt, const struct hashbelt_entry *of, u32 reason, u64 deadline_ns),
	PARAMS(belt, of, reason, deadline_ns),
	of->version, of->data, of->key_len,
	__field(u64, deadline_ns) __field(u32, reason),
	__entry->deadline_ns = deadline_ns; __entry->reason = reason,
	HB_PRINT_KEY("version=%llu deadline_ns=%llu reason=%u", __entry->version,
		     __entry->deadline_ns, __entry->reason)
);

TRACE_EVENT(hashbelt_rotate,
	TP_PROTO(u64 belt, u32 shard, u32 buckets, u64 now_ns),
	TP_ARGS(belt, shard, buckets, now_ns),
	TP_STRUCT__entry(
		__field(u64, belt)
		__field(u64, now_ns)
		__field(u32, shard)
		__field(u32, buckets)
	),
	TP_fast_assign(
		__entry->belt = belt;
		__entry->now_ns = now_ns;
		__entry->shard = shard;
		__entry->buckets = buckets;
	),
	TP_printk("belt=%llu shard=%u buckets=%u now_ns=%llu", __entry->belt,
		  __entry->shard, __entry->buckets, __entry->now_ns)
);

TRACE_EVENT(hashbelt_drain,
	TP_PROTO(u64 belt, u32 shard, u32 expired, u32 cascaded),
	TP_ARGS(belt, shard, expired, cascaded),
	TP_STRUCT__entry(
		__field(u64, belt)
		__field(u32, shard)
		__field(u32, expired)
		__field(u32, cascaded)
	),
	TP_fast_assign(
		__entry->belt = belt;
		__entry->shard = shard;
		__entry->expired = expired;
		__entry->cascaded = cascaded;
	),
	TP_printk("belt=%llu shard=%u expired=%u cascaded=%u", __entry->belt,
		  __entry->shard, __entry->expired, __entry->cascaded)
);

/*
 * @call: at most 7 bytes, copied: tools that read a record later cannot follow a pointer.
 * @belt_name has HASHBELT_NAME_SIZE bytes; NULL: it is no valid name, and not recorded.
 */
TRACE_EVENT(hashbelt_manage,
	TP_PROTO(const char *call, const char *belt_name, int err),
	TP_ARGS(call, belt_name, err),
	TP_STRUCT__entry(
		__field(u32, uid)
		__field(int, err)
		__array(char, call, 8)
		__array(char, name, HASHBELT_NAME_SIZE)
	),
	TP_fast_assign(
		__entry->uid = from_kuid(&init_user_ns, current_fsuid());
		__entry->err = err;
		strscpy(__entry->call, call, sizeof(__entry->call));
		strscpy(__entry->name, belt_name ?: "", HASHBELT_NAME_SIZE);
	),
	TP_printk("call=%s uid=%u err=%d name=%s", __entry->call, __entry->uid, __entry->err,
		  __entry->name)
);

TRACE_EVENT(hashbelt_denied,
	TP_PROTO(const char *belt_name, u32 needs, u32 access),
	TP_ARGS(belt_name, needs, access),
	TP_STRUCT__entry(
		__field(u32, uid)
		__field(u32, needs)
		__field(u32, access)
		__array(char, name, HASHBELT_NAME_SIZE)
	),
	TP_fast_assign(
		__entry->uid = from_kuid(&init_user_ns, current_fsuid());
		__entry->needs = needs;
		__entry->access = access;
		strscpy(__entry->name, belt_name, HASHBELT_NAME_SIZE);
	),
	TP_printk("uid=%u needs=%#x access=%#x name=%s", __entry->uid, __entry->needs,
		  __entry->access, __entry->name)
);

#endif /* _HASHBELT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH belt/ground
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
