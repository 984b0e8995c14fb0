/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The settings of a belt, in the order in which help shows the options. settings.c includes this
 * file with several meanings of SETTING: a row has the option, its argument and its help, the bit
 * with which the device sets it, the kind, and members of struct setting.
 */
SETTING("ttl", "D", "the belt's time-to-live (5m)",
	HASHBELT_SET_TTL, &setting_ttl, "ttl_ms", .label = "ttl", MEMBER(ttl_ms))
SETTING("grace", "D|none", "keep expired values for get --fill --stale (none)",
	HASHBELT_SET_GRACE, &setting_duration, "grace_ms", .label = "grace", MEMBER(grace_ms))
SETTING("buckets", "N", "buckets, 2 to 65536; an interval is ttl / (N - 1) (3)",
	HASHBELT_SET_BUCKETS, &setting_buckets, "buckets", MEMBER(buckets))
SETTING("policy", "standard|updating|timecache", "policy of get and put (timecache)",
	HASHBELT_SET_POLICY, &setting_policy, "policy",
	.bits = HASHBELT_REFRESH_ON_GET | HASHBELT_KEEP_ON_PUT)
SETTING("refresh-on-get", "yes|no", "whether get renews the time-to-live",
	HASHBELT_SET_POLICY, &setting_bit, "refresh_on_get",
	.bits = HASHBELT_REFRESH_ON_GET, .on = "yes", .off = "no")
SETTING("on-put", "replace|keep", "whether put replaces or keeps a present entry",
	HASHBELT_SET_POLICY, &setting_bit, "keep_on_put",
	.bits = HASHBELT_KEEP_ON_PUT, .on = "keep", .off = "replace")
SETTING("on-expire", "drop|notify|reinsert", "what the belt does with expired entries (drop)",
	HASHBELT_SET_HANDLER, &setting_word, "on_expire", MEMBER(handler))
SETTING("report", "expired|evicted|replaced|removed|cleared|pressure|released|all",
	"reasons, with commas (expired,evicted,pressure)",
	HASHBELT_SET_REASONS, &setting_reasons, "report", MEMBER(reasons))
SETTING("consumers", "readers|owner", "the users that may take events (readers)",
	HASHBELT_SET_CONSUMERS, &setting_consumers, "consumers",
	.given = offsetof(struct hashbelt_settings, consumers))
SETTING("max-entries", "N|none", "most entries (none)",
	HASHBELT_SET_MAX_ENTRIES, &setting_limit, "max_entries", MEMBER(max_entries))
SETTING("max-bytes", "SIZE|none", "most bytes, as 64k, 10M, 1.5GiB (none)",
	HASHBELT_SET_MAX_BYTES, &setting_size, "max_bytes", MEMBER(max_bytes))
SETTING("max-events", "N|none", "most events that wait to be read (1048576)",
	HASHBELT_SET_MAX_EVENTS, &setting_limit, "max_events", MEMBER(max_events), .none = ~0ULL)
SETTING("when-full", "evict|reject", "whether a put in a full belt evicts or fails (reject)",
	HASHBELT_SET_POLICY, &setting_choice, "when_full",
	.bits = HASHBELT_EVICT, .on = "evict", .off = "reject")
SETTING("pinned", YES_NO, "keep entries when the system is short of memory",
	HASHBELT_SET_POLICY, &setting_bit, "pinned",
	.bits = HASHBELT_PINNED, .on = "yes", .off = "no")
SETTING("wipe", YES_NO, "overwrite keys and values when they are freed",
	HASHBELT_SET_POLICY, &setting_bit, "wipe",
	.bits = HASHBELT_WIPE, .on = "yes", .off = "no")
SETTING("mode", "MODE", "rights of owner, group and others, as of a file (0600)",
	HASHBELT_SET_MODE, &setting_mode, "mode", MEMBER(mode))
SETTING("group", "GROUP", "the belt's group, name or number (yours)",
	HASHBELT_SET_GID, &setting_group, "gid", MEMBER(gid))
SETTING("window", "SIZE|on|off", "memory for reads without a system call; on: 1M (off)",
	HASHBELT_SET_WINDOW, &setting_window, "window_bytes", MEMBER(window_bytes))
