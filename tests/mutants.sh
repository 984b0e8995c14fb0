#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# mutants.sh [NAME]... - show that the tests can fail: plant a bug in a copy of the sources,
# run a suite there, and check that the suite finds that bug. Without a name, plant all bugs,
# one at a time. Prints TAP; fails if a bug is not found.
#
# The copy is .cache/mutants/tree. The output of a suite stays beside it, in NAME.log.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/environment.sh
. "$tests/environment.sh"
home=$top/.cache/mutants
tree=$home/tree
wanted=" $* "
cleaned=''

# prepare - copy the sources, newer than anything built in the copy before: that may have a bug.
prepare() {
	mkdir -p "$tree/.cache"
	find "$tree" -mindepth 1 -maxdepth 1 ! -name .cache -exec rm -rf {} +
	# git lists deleted files as well, which tar cannot read.
	(cd "$top" && git ls-files -z --cached --others --exclude-standard |
		tar -c --ignore-failed-read --null -T - 2>/dev/null) | tar -x -m -C "$tree"
	# check.sh lists files with git.
	git init -q "$tree"
}

# run SUITE ONLY LOG - run a suite of the copy, or some of its programs, or its check.sh.
run() {
	case $1 in
	check) "$tree/tests/check.sh" ;;
	*) ONLY=$2 ACCESS_LOG='' "$tree/tests/run.sh" "$1" ;;
	esac >"$3" 2>&1
}

# clean SUITE ONLY - a test: without a bug the suite passes. Runs once for each suite and
# programs, and not if mutants are named.
clean() {
	case $wanted$cleaned in
	"  "*" $1/$2/ "*) return ;;
	"  "*) ;;
	*) return ;;
	esac
	cleaned="$cleaned $1/$2/ "
	log=$home/clean-$1${2:+-$2}.log
	run "$1" "$2" "$log"
	result $? "$1${2:+, $2}: the suite passes without a planted bug" "$log"
}

# carried_out LOG - true if the suite itself failed, not a build, a kernel or a guest.
carried_out() {
	! grep -Eq 'Bail out! (no kernel|.* was not built)|no such kernel|good order \(status 12[45]\)' "$1"
}

# mutant NAME FILE SCRIPT SUITE ONLY PATTERN DESCRIPTION - a test: with the bug that sed plants
# by SCRIPT, the suite fails, and its output matches PATTERN.
mutant() {
	case $wanted in
	"  " | *" $1 "*) ;;
	*) return ;;
	esac
	clean "$4" "$5"
	log=$home/$1.log
	sed "$3" "$top/$2" >"$tree/$2"
	if cmp -s "$top/$2" "$tree/$2"; then
		echo "the sed script of mutant $1 does not change $2: correct it" >"$log"
		result 1 "$1: bug found: $7" "$log"
		return
	fi
	! run "$4" "$5" "$log" && carried_out "$log" && grep -Eq "$6" "$log"
	result $? "$1: bug found: $7" "$log"
	cp "$top/$2" "$tree/$2"
}

# A bug: a buffer is freed, and then copied to user space.
freed_early='/^int hb_call_list/,/^}/{s/^\tif (!err && copy_to_user/\tkvfree(buffer);\n&/;s/^\t\tkvfree(buffer);$/\t\t;/}'

prepare
mutant due belt/ground/wheel.h \
	's/word < 0 || (word > (s64)now && !(word & HB_SEALED))/word < 0/' \
	kunit '' 'not ok .*nothing_expires_early' 'the drain does not compare the deadline'
mutant interval belt/ground/wheel.c \
	's/geometry->width\[i\]) + !i,/geometry->width[i]) + !i + 1,/' \
	kunit '' 'not ok .*an_interval_late' 'an expired entry is handed over an interval late'
mutant compare belt/keys/get.h \
	's/(s64)seen->deadline > (s64)now/(s64)seen->deadline >= (s64)now/' \
	kunit '' 'not ok .*until_its_deadline' 'a value is read at its deadline'
mutant right device/rights.c \
	's/return data_race(ns_capable_noaudit(.*));/return true;/' \
	device rights_test 'not ok .*returns E(PERM|ACCES)' 'every user has all rights'
mutant size device/item.c \
	'/value_len > HASHBELT_VALUE_MAX/s/if (/if (false \&\& /' \
	device argument_test 'not ok .*EMSGSIZE' 'a value of any size is accepted'
mutant free belt/events/limbo.c \
	's/^\t\tput_in(shard->belt, entry, &bundle);/\t\t;/' \
	device entry_test 'hb_memory_exit' 'an entry in limbo is never freed'
mutant unlock belt/keys/key.c \
	'/^int hb_expire_key/,/^}/s/spin_unlock(&shard->lock);//' \
	kunit '' 'recursive locking' 'a spinlock is not released'
mutant version belt/keys/put.c \
	's/old->version != item->version)$/false)/' \
	kunit '' 'not ok .*put_and_remove_check_their_conditions' 'a put does not compare the version'
mutant barrier belt/ground/index.c \
	's/rcu_assign_pointer(index->table, next)/index->table = next/' \
	check '' 'address space' 'a new table is published without a barrier'
mutant race belt/ground/usage.c \
	'/^void hb_usage_change/,/^}/{/spin_lock\|spin_unlock/d}' \
	kcsan churn 'KCSAN: data-race in .*hb_usage_' 'usage is counted without the lock'
mutant condition belt/keys/put.c \
	's/old->version != item->version)$/false)/' \
	history history 'not ok .*the belt does what the model does' \
	'a put does not compare the version, in a long history'
mutant token belt/wait/lock.c \
	's/^\tlock->token = entry->version;/\tlock->token = 1;/' \
	stress lockstress 'not ok .*each owner has a larger token than the one before' \
	'fencing tokens do not grow'
mutant late belt/wait/fill.c \
	'/^int hb_fill_condition/,/^}/s/return lease && .*;/return 0;/' \
	stress origin 'not ok .*no read returns an older value' \
	'a put does not look for its fill lease'
mutant wipe belt/events/limbo.c \
	's/if (hb_wipes(belt))/if (false)/' \
	memory wipe_test 'not ok .*wiping belt: .* is nowhere' 'a wiping belt does not wipe'
mutant unwind belt/ground/memory.c \
	'/^void \*hb_zalloc/,/^}/s/uncharge(account, size);//' \
	fault '' 'not ok .*put for long: .* allocations' 'a failed allocation stays charged'
mutant crowd belt/room/fit.c \
	'/^unsigned int hb_bits_for/,/^}/s/HB_INDEX_BITS_MAX/HB_INDEX_BITS_MIN + 5/' \
	cost '' 'not ok .*get hit costs the same with' 'the index does not grow with the belt'
mutant absent tools/hbctl/cmd_entry.c \
	's/if (request->json && (!err || err == -ENOENT))/if (request->json \&\& !err)/' \
	hbctl hbctl.t 'not ok .*has --json of a missing key' 'hbctl prints no JSON for a missing key'
mutant fence belt/ground/index.h \
	'/^hb_table_walk/,/^}/s/smp_rmb();//' \
	models litmus 'not ok .*hb_table_walk in .* is unchanged' \
	'no barrier between the chains of two tables'
mutant model tests/models/queue.pml \
	's/#ifndef BREAK_WAKE/#ifdef BREAK_WAKE/' \
	models queue 'not ok .*queue: no error with unlock' 'a model lacks a step'
mutant span tools/common/duration.c \
	's/(part \* unit + FRACTION \/ 2)/(part * unit)/' \
	native '' "not ok .*'0\.0005'" 'a duration is not rounded'
mutant field hashbelt.h \
	'/^struct hashbelt_batch {/,/^}/s/__u32 done;/__u64 done;/' \
	build '' 'static assertion failed: "?batch' 'a field of the interface has another size'
mutant word hashbelt.h \
	'/^struct hashbelt_batch {/i struct hashbelt_any { __u32 new; };' \
	build '' 'not ok .*compiles as C\+\+11' 'hashbelt.h uses a reserved word of C++'
mutant window examples/limiter.c \
	's/return \*sum <= limit/return *sum < limit/' \
	examples limiter.t 'not ok .*five requests of a window pass' 'an example refuses one request too many'
mutant again tools/store/store.c \
	's/THEN held\.token ELSE/THEN excluded.token ELSE/' \
	store '' 'not ok .*the owner that has it prints the same token' \
	'lock by the owner returns another token'
mutant exit belt/belts/create.c \
	'/^static void destroy_workqueues/,/^}/s/destroy_workqueue(free_wq);//' \
	life module_test 'not ok .*no slab cache of the kernel grows' 'the module leaks a workqueue'
mutant early device/call.c "$freed_early" \
	debug belt_test 'KASAN: .*use-after-free' 'a buffer is read after it is freed'
mutant order belt/wait/lease.c \
	'/^static int acquire_and_wait/,/^}/s/^\tlist_add_tail(.*/&\n\tspin_lock(\&belt->shards[0].lock);\n\tspin_unlock(\&belt->shards[0].lock);/' \
	debug lockwait_test 'not ok .*lockdep is on after all' 'locks are taken in the wrong order'
mutant leak device/call.c \
	'/^int hb_call_list/,/^}/s/^\t\tkvfree(buffer);$/\t\tif (!err)\n\t\t\tkvfree(buffer);/' \
	debug argument_test 'not ok .*kmemleak finds no leak' \
	'memory that is not charged leaks after an error'
mutant blind tests/guest.sh \
	's|^insmod|echo off >/sys/kernel/debug/kcsan\n&|' \
	kcsan rights_test 'not ok .*KCSAN is on after all' 'KCSAN is switched off'
mutant reach device/call.c "$freed_early" \
	fuzz fuzz 'KASAN: .*use-after-free' 'a buffer is read after it is freed, by random calls'
mutant unit tools/common/duration.c 's/i < ARRAY_SIZE(units); i++/i <= ARRAY_SIZE(units); i++/' \
	fuzz parsers 'not ok .*hbctl parses each random input' \
	'the search for a unit reads beyond the last one'
mutant newer belt/ground/compat.h 's/= shrinker_alloc(/= shrinker_alloc_now(/' \
	kernels entry_test 'not ok .*the module builds for Debian sid' \
	'code for newer kernels does not build there'

finish
