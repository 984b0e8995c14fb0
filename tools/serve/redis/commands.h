/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of the table of commands: each starts a request as @start of struct protocol. */
#ifndef HBSERVE_COMMANDS_H
#define HBSERVE_COMMANDS_H

#include "requests.h"

typedef enum started redis_start(struct work *work, struct redis *redis);

/* queue.c */
redis_start redis_multi, redis_exec, redis_discard, redis_watch;
enum started redis_queue_add(struct work *work, struct redis *redis);
void redis_queue_end(struct redis *redis);

/* connect.c */
redis_start redis_ping, redis_quit, redis_reset, redis_select, redis_auth, redis_hello;
redis_start redis_client, redis_info, redis_time;
bool redis_ends(const struct work *work, const struct redis *redis);

/* channels.c */
redis_start redis_subscribe, redis_unsubscribe;
void redis_channels_end(struct redis *redis);
bool redis_channels_deliver(struct client *client, const char *records, size_t len);

/* strings.c */
redis_start redis_get_value, redis_getex, redis_getdel, redis_getrange, redis_getset;
redis_start redis_mget, redis_mset, redis_msetex, redis_append, redis_setrange, redis_strlen;
redis_start redis_count_up, redis_count_by;

/* set.c */
redis_start redis_set, redis_setnx, redis_setex;

/* expiry.c */
redis_start redis_ttl, redis_expire, redis_persist;

/* keys.c */
redis_start redis_del, redis_exists, redis_type, redis_dbsize, redis_randomkey, redis_flush;
redis_start redis_scan, redis_keys, redis_delex, redis_delifeq;

/* script.c */
redis_start redis_eval, redis_evalsha, redis_script;

/* table.c */
redis_start redis_list_commands;
void redis_print_commands(void);

#endif /* HBSERVE_COMMANDS_H */
