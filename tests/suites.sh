# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# suites.sh - sourced by run.sh: for each suite of tests/suites a function that runs its programs, and
# prints their TAP, with the marks that tally.awk reads.
#
# The caller sets:
#
#	tests, top	directories of the tests and of the clone
#	logs		the directory for logs
#	ONLY, SEED	see run.sh
#	size		brief, short or full: see run.sh
#	listing		if not empty, a suite prints the programs that ONLY selects, and runs none
#
# A suite with another kernel is a function in a subshell.
# shellcheck disable=SC2030,SC2031
# shellcheck disable=SC2154 # the caller's variables

payload=$top/.cache/build/payload
traced=tests/device/trace.t	# needs trace points
examples=$(cd "$top" && echo tests/examples/*.t)	# tests of the programs of examples/
# Tests of the interface that are run in 32 bits: those that depend on the size of a word, and
# two that together make every call with every wrong argument.
narrow=$(sed -n 's|^narrow := ||p' "$tests/Makefile")
# Other suites of Debian whose kernels the module is tried on: the oldest that it builds for, those of stable and
# unstable, and the newest that is released. NEWEST=experimental tries the next one.
oldest=bullseye stable=trixie unstable=sid newest=newest
image=''	# the kernel that guests boot; empty: the stock kernel

# need PACKAGE... - install packages that a suite needs.
need() {
	[ "$listing" ] || "$tests/need.sh" "$@"
}

# build TARGET... - build targets of tests/Makefile. One at a time: many share files.
build() {
	[ "$listing" ] || flock "$logs/build.lock" make -s -j "$(nproc)" -C "$tests" "$@"
}

# begin NAME - print the beginning of a program that ONLY can select.
begin() {
	echo "# begin $1"
}

# begin_check NAME - print the beginning of a check that only the whole suite can run again.
begin_check() {
	echo "# begin-check $1"
}

end() {
	echo "# end $1 $2"
}

# one NAME COMMAND... - run a command that prints TAP, if ONLY selects it.
one() {
	name=$1
	shift
	chosen "$name" || return 0
	[ ! "$listing" ] || {
		echo "${name##*/}"
		return
	}
	begin "$name"
	"$@"
	end "$name" $?
}

# check NAME COMMAND... - run a command that prints TAP and on which others depend.
check() {
	[ ! "$listing" ] || return 0
	name=$1
	shift
	begin_check "$name"
	"$@"
	end "$name" $?
}

# bail_out NAME LOG REASON - report a failed step without which the suite cannot run.
bail_out() {
	begin_check "$1"
	sed 's/^/# /' "$2"
	echo "Bail out! $3"
	end "$1" 1
}

# prepared NAME REASON COMMAND... - run a command without which the suite cannot run. If it fails, the suite
# fails for that reason.
prepared() {
	[ ! "$listing" ] || return 0
	prepared_log=$logs/$1.log prepared_name=$1 reason=$2
	shift 2
	"$@" >"$prepared_log" 2>&1 && return
	bail_out "$prepared_name" "$prepared_log" "$reason"
	return 1
}

# own_payload SUITE REASON COMMAND... - give the next guests the payload that the command makes in $payload-SUITE.
own_payload() {
	prepared "$@" && { [ "$listing" ] || payload=$payload-$1; }
}

# exactly "PROGRAM [ARGUMENT]..." - print the program as ONLY names it with its arguments.
exactly() {
	echo "$1" | sed 's|^[^ ]*/||; s/ /:/g'
}

# chosen "PROGRAM [ARGUMENT]..." - true if ONLY is empty, or has the program's name, or its name
# with these arguments in the form that tally.awk prints.
chosen() {
	chosen=${1%% *}
	chosen=${chosen##*/}
	chosen=${chosen%-32}
	exact=$(exactly "$1")
	case " ${ONLY:-$chosen} " in
	*" $chosen "* | *" $exact "*) ;;
	*) false ;;
	esac
}

# guest NAME OPTIONS [SETTING=VALUE]... PROGRAM... - run programs of the payload in a guest, and
# print a test of the guest itself.
guest() {
	guest_name=$1
	options=$2
	shift 2
	programs=0
	for argument; do
		shift
		case $argument in
		[A-Z]*=*) ;;
		*)
			chosen "$argument" || continue
			programs=$((programs + 1))
			[ ! "$listing" ] || exactly "$argument"
			;;
		esac
		set -- "$@" "$argument"
	done
	[ $programs != 0 ] && [ ! "$listing" ] || return 0
	# shellcheck disable=SC2086 # options, split on purpose
	"$tests/vm/run.sh" --keep "$logs/$guest_name" ${image:+--image "$image"} $options \
		"$payload" sh ./guest.sh "$@" 2>"$logs/$guest_name.err"
	guest_status=$?
	begin_check "guest-of-$guest_name"
	echo 1..1
	if [ $guest_status = 0 ]; then
		echo "ok 1 - the kernel had nothing to complain about"
	else
		sed 's/^/# /' "$logs/$guest_name.err"
		echo "not ok 1 - the guest ended in good order (status $guest_status)"
	fi
	end "guest-of-$guest_name" 0
}

# machine NAME ARGUMENTS PROGRAM... - run programs on a Debian with systemd, in a guest whose kernel has
# these arguments.
machine() {
	machine_name=$1 machine_arguments=$2
	shift 2
	for program; do
		shift
		! chosen "$program" || set -- "$@" "$program"
	done
	[ $# != 0 ] || return 0
	if [ "$listing" ]; then
		for program; do exactly "$program"; done
	else
		"$tests/confined/machine.sh" "$logs/$machine_name" "$machine_arguments" "$@"
	fi
}

suite_native() {
	build native || return
	for part in duration text_line encoding words top bench window linear; do
		one $part "$top/.cache/build/native/${part}_test"
	done
	one window_threads "$top/.cache/build/native/window_threads"
	for part in script pushes feed poller stats; do
		one "serve_$part" "$top/.cache/build/native/serve/${part}_test"
	done
	for part in options redis_reply; do
		one "follow_$part" "$top/.cache/build/native/follow/${part}_test"
	done
}

# Tests that need the tools, and no kernel.
suite_usage() {
	need fish zsh python3 python3-pytest
	[ "$listing" ] || "$top/bindings/python/generate.py"
	LD_LIBRARY_PATH=$top/.cache/build/tools-guest one python_native "$tests/python/native_test.py"
	one python_install "$tests/python/install.t" "$top/.cache/build/tools-guest"
	one links "$tests/docs/links.t"
	PATH=$payload:$PATH one usage "$tests/hbctl/usage.t"
	PATH=$payload:$PATH one apply_usage "$tests/hbctl/apply_usage.t"
	PATH=$payload:$PATH one tab "$tests/hbctl/tab_test.py" hbctl
}

# programs SUFFIX [NAME]... - print all tests of the interface, or the named ones.
programs() {
	suffix=$1
	shift
	# shellcheck disable=SC2046 # names without spaces
	[ $# -gt 0 ] || set -- $(cd "$tests/device" && basename -s .c -- *.c)
	printf "device/%s$suffix\n" "$@"
}

# on_device NAME OPTIONS PROGRAM... - run tests of the interface, and those of the module itself.
on_device() {
	# shellcheck disable=SC2086 # a name, or none
	guest "$@" $traced tests/device/module.t
}

# The programs that --quick runs, at small sizes, unless ONLY selects others.
brief='entry_test event_test belt_test lock_test request_test set_test scan_test batch_test race_test'

# Programs of other suites that find mistakes in eviction, in the accounting of memory, and in what
# several tasks do at once, and that are quick at small sizes.
besides='memory/behind_test memory/wipe_test memory/allocator_test memory/cgroup_test'

# is_first_kernel - true on the stock kernel of Debian 12, for which evict_test has bounds: the
# shrinker takes more instructions on 6.12.
is_first_kernel() {
	[ "$listing" ] || case $("$tests/vm/kernel.sh" version) in 6.1.*) ;; *) false ;; esac
}

suite_device() {
	[ "$size$ONLY" != brief ] || {
		# shellcheck disable=SC2046,SC2086 # lists of names, split on purpose
		guest device "" SCALE=5 $(programs "" $brief)
		return
	}
	# shellcheck disable=SC2046,SC2086 # lists of names, split on purpose
	if [ "$size" = full ]; then
		# module.t has no sizes: debug runs it, with checkers. Here it runs if it is named.
		guest device "" $(programs "") $(programs -32 $narrow) $traced \
			${ONLY:+tests/device/module.t}
	else
		guest device "" SCALE=5 $(programs "") $(programs -32 $narrow) $besides \
			"lockstress $SEED 2000" "origin $SEED 2000" \
			$traced tests/device/module.t
		! is_first_kernel || guest evict "--count-instructions" SCALE=5 memory/evict_test
	fi
}

# squeeze GUEST "MIB [OPTION]..." PROGRAM... - run programs in a guest with little memory, which needs a payload
# of its own: other files would take too much of that memory.
squeeze() (
	name=$1 memory=$2 all=$payload
	shift 2
	payload=$all-$name
	[ "$listing" ] || { rm -rf "$payload" && mkdir "$payload" && cd "$all"; } || return
	prepared "$name" "no payload for the guest with little memory" \
		cp -p --parents hashbelt.ko guest.sh "$@" "$payload" || return
	guest "$name" "--memory $memory" "$@"
)

# slow NAME OPTIONS PROGRAM... - run programs in a guest that executes four million instructions in a second, as one
# does on a busy machine: no result may depend on how much a processor gets done in a time.
slow() {
	slow_name=$1 slow_options=$2
	shift 2
	guest "$slow_name" "$slow_options --count-instructions --shift 8 --append nosoftlockup" "$@"
}

# Guests with much memory and with little, and guests that count instructions.
suite_memory() {
	guest memory "--memory 2048" memory/cgroup_test memory/charge_test memory/behind_test \
		memory/allocator_test
	guest shrink "--cpus 4" memory/shrink_test
	squeeze squeeze 320 memory/squeeze_test memory/wipe_test
	slow slow-memory "--memory 2048" memory/behind_test
	guest lag "--count-instructions" memory/lag_test memory/evict_test
}

# lockup NAME [OPTION]... - run lockup_test, for which two seconds are 8,000,000 instructions.
lockup() {
	locking=$1
	shift
	slow "$locking" "$*" "life/lockup_test 100000"
}

# Guests that are short of memory or processor time, that sleep, or that have many objects.
suite_life() {
	guest life-module "--append slub_debug=F" life/module_test
	guest life "" life/starve_test life/suspend_test tests/life/livepatch.t
	squeeze life-oom 352 life/oom_test
	lockup life-lockup
	guest life-entries "--memory 4096" "life/many_test 1000000"
	guest life-belts "--memory 2560 --count-instructions" life/fair_test life/busy_test \
		life/polled_test life/mapped_test "life/belts_test 100000"
}

suite_life_full() { guest life-full "--memory 4096" "life/many_test 10000000"; }

# The tests of hbctl in short.
commands=$(printf 'tests/hbctl/%s.t ' hbctl many apply events table lock incr wait init handle fill save)

suite_hbctl() {
	[ "$size" = full ] || {
		# shellcheck disable=SC2086 # a list of names, split on purpose
		guest hbctl "" client_test kept_test $commands
		return
	}
	guest hbctl "" client_test kept_test tests/hbctl/hbctl.t \
		tests/hbctl/many.t tests/hbctl/settings.t tests/hbctl/apply.t tests/hbctl/events.t \
		tests/hbctl/top.t tests/hbctl/table.t tests/hbctl/bench.t \
		tests/hbctl/lock.t
	guest hbctl-files "" tests/hbctl/save.t tests/hbctl/reload.t
	guest hbctl-waits "" tests/hbctl/incr.t tests/hbctl/wait.t \
		tests/hbctl/watch.t tests/hbctl/init.t tests/hbctl/handle.t tests/hbctl/fill.t
}

# serve_payload SUITE [full] - build hbserve with sanitizers, and give the next guests a payload of their own
# with it and with clients of memcached.
serve_payload() {
	prepared "$1" "no hbserve" build serve && own_payload "$1" "no clients for hbserve" \
		"$tests/serve/payload.sh" "$payload" "$top/.cache/build/serve" "$payload-$1" ${2:+"$2"}
}

suite_serve() (
	need fish zsh python3 python3-redis redis-tools openssl iproute2
	if [ "$size" != full ]; then
		build fakes-serve || exit
		PATH=$top/.cache/build/serve:$PATH
		one serve/hbserve-fake env SPLITS=20 "$tests/serve/dialogues.t" hbserve-fake
		one serve/redis_clients "$tests/serve/redis_clients.t" hbserve-fake
		one serve/redis_events "$tests/serve/redis_events.t" hbserve-fake
		one serve/start "$tests/serve/start.t"
		exit
	fi
	serve_payload serve || exit
	memcached=''
	[ "$listing" ] || memcached=$("$tests/serve/memcached.sh" bookworm)
	build "$top/.cache/build/follow/redis-server" || exit
	PATH=$top/.cache/build/serve:$top/.cache/build/follow:$memcached/bin:$PATH
	one serve_usage "$tests/serve/usage.t"
	one serve_tab "$tests/hbctl/tab_test.py" hbserve
	for server in memcached-bookworm redis-bookworm hbserve-fake hbserve-threads; do
		one "serve/$server" "$tests/serve/dialogues.t" $server
	done
	one serve/start "$tests/serve/start.t"
	one serve/redis_events-threads "$tests/serve/redis_events.t" hbserve-threads
	proxy='' nutcracker=''
	[ "$listing" ] || {
		proxy=$("$tests/serve/memcached.sh" 2>>"$logs/serve.log")
		nutcracker=$("$tests/unpack.sh" nutcracker usr/sbin/nutcracker 2>>"$logs/serve.log")
	}
	PATH=${nutcracker%/*}:$PATH one serve/proxy "$tests/serve/proxy.t" "$proxy/run"
	guest serve "--memory 2048" SPLITS=20 "tests/serve/dialogues.t hbserve" tests/serve/share.t tests/serve/window.t \
		tests/serve/clients.t tests/serve/redis_clients.t tests/serve/redis_events.t tests/serve/robust.t
)

suite_serve_full() (
	serve_payload serve-full full || exit
	PATH=$top/.cache/build/serve:$PATH one serve/hbserve-plain \
		"$tests/serve/full/memory.t" hbserve-plain 100000000
	guest serve-full "--memory 3072" tests/serve/full/others.t \
		"tests/serve/full/memory.t hbserve 10000000"
)

# follow_payload - build hbfollow with sanitizers, and give the next guests a payload of their own with it,
# Redis and PostgreSQL.
follow_payload() {
	prepared follow "no hbfollow" build follow && prepared follow "no engines" "$tests/store/need.sh" &&
		need python3 python3-redis python3-psycopg2 && own_payload follow "no engine for hbfollow" \
		"$tests/follow/payload.sh" "$payload" "$top/.cache/build/tools-guest" "$top/.cache/build/follow" \
		"$payload-follow"
}

# follow_fakes TEST... - tests of hbfollow on this machine, with a directory in place of the belt.
follow_fakes() {
	for test; do
		PATH=$top/.cache/build/follow:$PATH one "follow/$test" "$tests/follow/${test}_test.py" fake
	done
}

suite_follow() (
	if [ "$size" != full ]; then
		[ "$listing" ] || "$tests/store/need.sh"
		need python3 python3-redis python3-psycopg2
		build fakes-follow || exit
		follow_fakes redis postgresql pool lost
		exit
	fi
	need fish zsh python3
	follow_payload || exit
	PATH=$top/.cache/build/follow:$PATH one follow_usage "$tests/follow/usage.t"
	PATH=$top/.cache/build/follow:$PATH one follow_tab "$tests/hbctl/tab_test.py" hbfollow
	follow_fakes redis postgresql pool lost failover hostile
	guest follow "--memory 2048" tests/follow/redis_test.py tests/follow/postgresql_test.py \
		tests/follow/lost_test.py
	guest follow-coherent "--memory 2048" "tests/follow/history_test.py 60 $SEED" tests/follow/cut_test.py \
		tests/follow/recipes_test.py
)

suite_follow_full() (
	follow_payload || exit
	guest follow-full "--memory 2048" "tests/follow/history_test.py 2000 $SEED" "tests/follow/cut_test.py all"
)

# python_payload SUITE [full|RELEASE] - give the next guests a payload of their own with Python and the package.
python_payload() {
	own_payload "$1" "no payload with Python" \
		"$tests/python/payload.sh" "$payload" "$top/.cache/build/tools-guest" "$payload-$1" ${2:+"$2"}
}

suite_python() (
	python_payload python || exit
	# shellcheck disable=SC2046 # names without spaces
	for backend in native ctypes; do
		guest "python-$backend" "" "HASHBELT_BACKEND=$backend" $(cd "$top" && echo tests/python/*_test.py)
	done
)

# On Python's debug build: calls keep no references.
suite_python_debug() (
	python_payload python-debug debug || exit
	guest python-debug "--memory 2048" HASHBELT_BACKEND=native "tests/python/debug.sh tests/python/backend_test.py"
)

# On PyPy, which does not count references.
suite_pypy() (
	python_payload pypy pypy || exit
	later="tests/python/full/later.sh --pypy"
	set --
	for test in close fill events lock request; do
		set -- "$@" "$later tests/python/${test}_test.py"
	done
	guest pypy "--memory 2048" "$@"
)

suite_python_full() (
	python_payload python-full full || exit
	later=tests/python/full/later.sh
	# shellcheck disable=SC2046 # names without spaces
	guest python-full "--memory 3072" "tests/python/full/own.py /django/3.2 3.2" \
		"$later tests/python/full/own.py /django/4.2 4.2" \
		"$later tests/python/full/shared_session.py" \
		$(cd "$top" && echo tests/python/full/*_test.py)
)

suite_conformance() (
	need python3
	one conformance_data "$tests/conformance/data_test.py"
	own_payload conformance "no payload with the runners" "$tests/conformance/payload.sh" "$payload" \
		"$top/.cache/build/tools-guest" "$payload-conformance" || return
	judge=tests/conformance/judge.py
	set -- "$judge library" "$judge python"
	[ "$size" != full ] || set -- "$@" "$judge hbctl"
	guest conformance "" HASHBELT_BACKEND=native "$@"
	guest conformance-ctypes "" HASHBELT_BACKEND=ctypes "$judge python"
)

suite_store() {
	prepared store "hbctl for a store was not built" build store || return
	need iproute2 libfaketime
	for test in lock hold reach failover away example manual; do
		PATH=$top/.cache/build/tools:$PATH one "store/$test" "$tests/store/$test.t"
	done
}

# tour - a test: what "make run" shows comes to its end.
tour() (
	# shellcheck source=tests/result.sh
	. "$tests/result.sh"
	log=$logs/tour.log
	"$tests/tour.sh" >"$log" 2>&1
	result $? "the tour comes to its end" "$log"
	grep -qF "put job:17 'send the reminder' --ttl" "$log"
	result $? "the tour prints a value with blanks in quotes" "$log"
	finish
)

suite_tour() {
	one tour tour
	need python3
	build shell || return
	one shell "$tests/shell/shell_test.py"
}

suite_examples() {
	# shellcheck disable=SC2086 # names, split on purpose
	guest examples "" $examples tests/docs/commands.t
	one example "$tests/example.t"
	one install "$tests/docs/install.t"
}

# crowd NAME PROCESSORS "OPTION..." "ARGUMENT..." [PROGRAM]... - run programs with several tasks, on
# so many processors. With more than two processors a belt has more shards than the smallest index
# has chains. machine_test checks that, and with the ARGUMENTs the machine.
crowd() {
	crowded=$1 processors=$2 crowd_options=$3 expected=$4
	shift 4
	guest "$crowded" "--cpus $processors $crowd_options" \
		"life/machine_test $processors $expected" "life/hotplug_test $SEED" \
		"churn $SEED" "lockstress $SEED" "origin $SEED" \
		"threads $SEED 2" device/race_test device/bound_test "$@"
}

suite_stress() {
	[ "$size" = full ] || {
		# Without hotplug_test: 6.12 warns of a processor that still has a task when it goes offline.
		guest stress "--cpus 4" "churn $SEED" "lockstress $SEED" "origin $SEED"
		return
	}
	crowd stress 4 "" "" "churn $((SEED + 1))" "lockstress $((SEED + 1))" "origin $((SEED + 1))"
}

suite_machines() {
	crowd processors 8 "" ""
	for preemption in none full; do
		crowd "preempt-$preemption" 4 "--append preempt=$preemption" "1 $preemption"
	done
	lockup preempt-lockup --append preempt=none
	crowd numa 4 "--numa --memory 2048" 2 memory/cgroup_test memory/behind_test
	guest cgroup1 "--memory 2048" "memory/cgroup_test 1"
}

# The kernel "strict" supports four processors at most.
suite_strict() (
	use_kernel strict strict || exit
	poisoned="--memory 2048 --append page_poison=1"
	crowd strict 4 "$poisoned" ""
	# shellcheck disable=SC2046 # names without spaces
	guest strict-device "$poisoned" SCALE=20 $(programs "") client_test kept_test
)

suite_kmsan() (
	use_kernel kmsan kmsan || exit
	# A reader of the trace makes the kernel read pages of it that were never written.
	traced=
	on_checked kmsan 8000 ""
)

suite_clang() (
	use_build clang "a kernel built by clang, with warnings as errors" \
		"$tests/module.sh" --user clang || exit
	[ "$listing" ] || image=$("$tests/kernel/kernel.sh" clang image)
	# shellcheck disable=SC2046 # names without spaces
	guest clang "" SCALE=20 $(programs "") client_test kept_test
)

suite_history() {
	[ "$size" = full ] || {
		guest history "" "history $SEED 200k" "threads $SEED 2 window"
		return
	}
	guest history "" "history $SEED 1" "history $((SEED + 1)) 2" "threads $SEED 10"
	guest history-four "--cpus 4" "threads $((SEED + 1)) 10 window"
}

# use_modules SUITE DIRECTORY - give the next guests the modules of DIRECTORY, in a payload of the
# suite's own: another suite may use the common payload.
use_modules() {
	[ ! "$listing" ] || return 0
	rm -rf "$payload-$1.new" && cp -al "$payload" "$payload-$1.new" &&
		cp --remove-destination "$2/hashbelt.ko" "$2/user/hashbelt_user.ko" "$payload-$1.new" &&
		rm -rf "$payload-$1" && mv "$payload-$1.new" "$payload-$1" && payload=$payload-$1
}

# use_kernel SUITE NAME - run the next guests on a kernel of kernel/kernel.sh.
use_kernel() {
	[ ! "$listing" ] || return 0
	module=$top/.cache/build/module-$2
	log=$logs/$1.build
	image=$("$tests/kernel/kernel.sh" "$2" image 2>"$log") &&
		flock "$logs/$2.lock" "$tests/module.sh" --user "$2" "$module" >>"$log" 2>&1 &&
		use_modules "$1" "$module" >>"$log" 2>&1 && return
	bail_out "kernel-$2" "$log" "no kernel $2, or no module for it"
	return 1
}

# on_checked NAME OPERATIONS OPTIONS [SETTING]... - run the examples, the stress and the tests of
# the interface on a kernel with checkers, at small sizes, because checks at each access take time.
# SCALE is the percentage of the tests' sizes.
on_checked() {
	checked=$1 operations=$2 options=$3
	shift 3
	# shellcheck disable=SC2046,SC2086 # names, split on purpose
	on_device "$checked" "--memory 2048 $options" SCALE=5 "$@" "life/machine_test 2" $examples \
		"churn $SEED $operations" \
		"lockstress $SEED $((operations / 4))" "origin $SEED $((operations / 4))" \
		"threads $SEED 1 window" client_test \
		$(programs "") $(programs -32 argument_test service_test)
}

# kmemleak makes an allocation several times slower, so leaks are searched for in a separate guest,
# at the smallest sizes: code that leaks does so at its first run. These programs make every call of
# the device; kunit finds leaks of the core, and fault finds those of error paths.
leaking='ack_test argument_test batch_test belt_test entry_test lock_test parameter_test readv_test
	request_test rights_test scan_test service_test set_test wait_test'

suite_debug() (
	use_kernel debug debug || exit
	on_checked debug 8000 "--append kmemleak=off"
	[ "$ONLY$listing" ] || check lines "$tests/coverage.sh" "$logs/lines.txt" "$module" \
		"$logs/debug/output.log" "$guest_status" "$top/.cache/build/kunit" "$logs/kunit"
	[ "$ONLY$listing" ] || check lock-order "$tests/lock_order.py" "$logs/debug/output.log"
	# shellcheck disable=SC2046,SC2086 # names, split on purpose
	guest leaks "--memory 2048" LEAKS=yes SCALE=1 client_test kept_test $(programs "" $leaking)
)

# Programs with several tasks.
racing='ack_test belt_test bound_test event_test limit_test lockwait_test memory_test readv_test
	poll_test race_test reader_test request_wait_test set_test wait_test'

suite_kcsan() (
	use_kernel kcsan kcsan || exit
	# shellcheck disable=SC2046,SC2086 # names, split on purpose
	guest kcsan "--memory 2048" SCALE=5 "life/machine_test 2" "churn $SEED 8000" \
		"lockstress $SEED 2000" "origin $SEED 2000" "threads $SEED 2 window" \
		$(programs "" $racing)
)

suite_checked_full() {
	(use_kernel debug-full debug && on_checked debug-full 80000 "" LEAKS=yes)
	(use_kernel kcsan-full kcsan && on_checked kcsan-full 200000 "")
}

suite_fault() (
	log=$logs/fault.build
	if [ "$listing" ]; then
		:
	elif ! image=$("$tests/kernel/kernel.sh" debug image 2>"$log") ||
		! build=$("$tests/kernel/kernel.sh" debug build 2>>"$log") ||
		! payload=$("$tests/fault/payload.sh" "$build" 2>>"$log"); then
		bail_out fault-build "$log" "no debug kernel, or no module for it"
		return
	fi
	# Failures within the kernel's functions make the kernel leak the names of slab caches.
	guest fault "--append kmemleak=off" "fault_test --points"
	guest fault-leaks "" LEAKS=yes "fault_test --sites"
)

# fuzz NAME [OPTION]... - run random calls, without kmemleak, which would take most of the time.
fuzz() {
	fuzzed=$1
	shift
	guest "$fuzzed" "--memory 2048 --append kmemleak=off" "fuzz --cover $*"
}

suite_fuzz() (
	one parsers "$tests/fuzz/parsers.sh" hbctl "-seed=$SEED" -runs=150000
	one requests "$tests/fuzz/parsers.sh" request "-seed=$SEED" -runs=200000
	one connections "$tests/fuzz/parsers.sh" connection "-seed=$SEED" -runs=5000
	one redis "$tests/fuzz/parsers.sh" redis "-seed=$SEED" -runs=5000
	use_kernel fuzz debug || exit
	fuzz fuzz --seed "$SEED" --calls 50000
)

suite_fuzz_faults() (
	use_kernel fuzz-faults debug || exit
	fuzz fuzz-faults --faults --seed "$SEED" --calls 100000
)

suite_soak() (
	guest soak "" "history $SEED ${SOAK:-3600}s"
	one parsers "$tests/fuzz/parsers.sh" hbctl "-max_total_time=${SOAK:-3600}"
	one requests "$tests/fuzz/parsers.sh" request "-max_total_time=${SOAK:-3600}"
	one connections "$tests/fuzz/parsers.sh" connection "-max_total_time=${SOAK:-3600}"
	one redis "$tests/fuzz/parsers.sh" redis "-max_total_time=${SOAK:-3600}"
	use_kernel soak debug || exit
	fuzz soak-fuzz --seed "$SEED" --seconds "${SOAK:-3600}"
)

# If nine of ten of all mutants are found, four or more of ten random ones survive once in 80 runs.
suite_mutation() { one mutation "$tests/mutation/run.sh" --sample 10 --seed "$SEED" --goal 70; }

# sources.t leaves the packages that the others install.
suite_packages() {
	check packages "$tests/packages/sources.t"
	for debian in trixie sid; do
		check packages-$debian "$tests/packages/sources_in.sh" $debian
	done
	for debian in bookworm trixie sid; do
		one "packages/$debian" "$tests/packages/debian.t" $debian
	done
	for debian in bookworm sid; do
		one "packages/rpm-$debian" "$tests/packages/rpm.t" $debian
		one "packages/nodevice-$debian" "$tests/packages/nodevice.t" $debian
	done
	one packages/boot "$tests/packages/boot.t"
	one packages/secureboot "$tests/packages/secureboot.t"
}

# The payload gets what only these guests need.
suite_confined() {
	prepared confined "no payload for the tests of confinement" "$tests/confined/payload.sh" "$payload" || return
	guest confined "" tests/confined/lockdown.t
	for level in integrity confidentiality; do
		one "confined/argument-$level" "$tests/vm/run.sh" --append "lockdown=$level" \
			"$payload" sh ./tests/confined/lockdown.t $level
	done
	guest confined-apparmor "--append apparmor=1 --append security=apparmor" tests/confined/apparmor.t
	machine confined-engines "" tests/confined/engines.t tests/confined/mapped.t
	machine confined-legacy "systemd.unified_cgroup_hierarchy=0" tests/confined/legacy.t
	machine confined-hbserve "" tests/confined/hbserve.t
	machine confined-hbfollow "" tests/confined/hbfollow.t
	machine confined-selinux "security=selinux selinux=1 enforcing=1" tests/confined/selinux.t
}

suite_cost() {
	one cost "$tests/bench/cost.t"
	one figures "$tests/bench/figures.t"
	one profile "$tests/bench/profile.t"
	guest cost-zipf "" zipf_test
}

# Prints KUnit's stderr as remarks, warnings ("!") last: the summary repeats the last remarks.
kunit() {
	quickly=--no-kmemleak
	[ "$size" != full ] || quickly=
	# shellcheck disable=SC2086 # an option, or none
	"$tests/kunit/run.sh" --keep "$logs/kunit" $quickly ${ONLY:+--only "$ONLY"} 2>"$logs/kunit.err"
	kunit_status=$?
	grep -v '^!' "$logs/kunit.err" | sed 's/^/# /'
	grep '^!' "$logs/kunit.err" | sed 's/^/# /'
	return $kunit_status
}

# cases - print the suites of KUnit, and their cases, also by both names.
cases() {
	awk '/^static struct kunit_case / {
			suite = "hashbelt_" $4
			sub(/_cases.*/, "", suite)
			print suite
		}
		match($0, /KUNIT_CASE[A-Z_]*\([a-z0-9_]+/) {
			name = substr($0, RSTART, RLENGTH)
			sub(/.*\(/, "", name)
			print name
			print suite "." name
		}' "$tests"/kunit/*_test.c
}

suite_kunit() {
	[ ! "$listing" ] || {
		cases | while read -r case; do
			for word in ${ONLY:-$case}; do
				# shellcheck disable=SC2254 # a pattern
				case $case in $word) echo "$case" ;; esac
			done
		done
		return
	}
	echo "# begin-cases kunit"
	kunit
	end kunit $?
}

# Only changed files are compiled and checked. After a warning all files are checked again.
sparse() (
	# shellcheck source=tests/result.sh
	. "$tests/result.sh"
	log=$logs/sparse.log module=$top/.cache/build/module-sparse
	{
		"$tests/module.sh" "$("$tests/vm/kernel.sh" headers)" "$module" W=1 C=1 CF=-D__CHECK_ENDIAN__ \
			>"$log" 2>&1 && [ ! -s "$log" ]
	} || rm -rf "$module"
	[ -d "$module" ]
	result $? "the module compiles without a warning of gcc or sparse" "$log"
	finish
)

suite_sparse() {
	need sparse
	one sparse sparse
}

suite_harness() {
	one tally "$tests/tally.t"
	one layers "$tests/layers.t"
	one locks "$tests/lock_order.t"
	one interface "$tests/interface.t"
	one harness "$tests/vm/selftest.sh"
	one run "$tests/run.t"
}

suite_build() {
	one build "$tests/build/build.t"
	one make "$tests/build/make.t"
	one monitoring "$tests/build/monitoring.t"
	one prometheus "$tests/build/prometheus.t"
}

# Programs that use what differs between kernels: the shrinker and accounting, timers, waiting,
# files and their polling, copies of user memory, trace points.
differing='entry_test memory_test ack_test belt_test event_test lockwait_test argument_test'

# use_debian NAME DEBIAN - run the next guests on the kernel of another suite of Debian, with a payload of
# their own.
use_debian() {
	debian=$2
	[ ! "$listing" ] || return 0
	kernel=$tests/matrix/kernel.sh
	build=$top/.cache/build/module-$1
	release=$("$kernel" "$debian" release) || return
	check "module-$debian" "$tests/matrix/module.t" "Debian $debian" "$build" \
		"$kernel" "$debian" module "$build"
	[ -s "$build/hashbelt.ko" ] || return
	use_modules "$1" "$build" || return
	cp "$tests/matrix/guest.t" "$payload/tests" || return
	image=$("$kernel" "$debian" image)
}

# on_debian NAME OPTIONS [SETTING=VALUE]... PROGRAM... - as guest(), after use_debian().
on_debian() {
	debian_guest=$1 debian_options=$2 debian_settings=''
	shift 2
	while case ${1-} in [A-Z]*=*) ;; *) false ;; esac; do
		debian_settings="$debian_settings $1"
		shift
	done
	[ "$listing" ] || set -- "tests/guest.t $release" "$@"
	# shellcheck disable=SC2086 # settings, split on purpose
	guest "$debian_guest" "--append maxcpus=1 $debian_options" $debian_settings "$@"
}

# matrix DEBIAN [SETTING=VALUE]... PROGRAM... - run programs on the kernel of another suite of Debian.
matrix() (
	use_debian "$1" "$1" || exit
	shift
	on_debian "device-$debian" "" "$@"
)

suite_kernels() {
	for debian in $stable $unstable; do
		# shellcheck disable=SC2046,SC2086 # lists of names, split on purpose
		matrix $debian $traced $(programs "" $differing) $(programs -32 service_test)
	done
}

# on_kernel DEBIAN - try all parts of the module on the kernel of that suite of Debian: all programs of device, and
# hbctl, life and memory in short. Debian's kernels have no KUnit; these programs run all of belt/.
on_kernel() (
	debian=$1
	use_debian "kernel-$debian" "$debian" || exit
	# charge_test compares figures of memory.stat. 5.10 has none of vmalloc and of all kernel memory, and each of its
	# processors keeps back up to 32 pages of the others. cgroup_test shows there that entries are charged.
	charge=memory/charge_test
	[ "$debian" != bullseye ] || charge=
	# shellcheck disable=SC2046 # lists of names, split on purpose
	on_debian "device-$debian" "" SCALE=5 $traced $(programs "") $(programs -32 service_test) tests/device/module.t
	# shellcheck disable=SC2086 # a list of names, split on purpose
	on_debian "hbctl-$debian" "" client_test kept_test $commands
	on_debian "life-$debian" "--append slub_debug=F" life/module_test life/starve_test life/suspend_test \
		"life/many_test 100000"
	guest "busy-$debian" "--memory 2560 --count-instructions" life/busy_test
	# shellcheck disable=SC2086 # a name or none
	on_debian "memory-$debian" "--memory 2048" memory/cgroup_test memory/behind_test $charge
	squeeze "squeeze-$debian" "320 --append maxcpus=1" memory/squeeze_test memory/wipe_test
)

suite_oldest_kernels() { on_kernel $oldest; }
suite_stable_kernels() { on_kernel $stable; }
suite_unstable_kernels() { on_kernel $unstable; }
suite_newest_kernels() { on_kernel $newest; }

# The headers of each kernel at hand.
suite_headers() {
	for debian in $oldest bookworm $stable $unstable $newest; do
		one "headers/probes-$debian" "$tests/matrix/probes.t" "$debian"
	done
	for debian in $oldest bookworm $stable; do
		one "headers/vendor-$debian" "$tests/matrix/vendor.t" "$debian"
	done
	# These lack nothing.
	for debian in $unstable $newest; do
		one "headers/vendor-$debian" "$tests/matrix/vendor.t" "$debian" 0
	done
}

# newest PATH COMMAND... - run a command in the root directory with the newest servers. PATH is a list of
# directories there that are searched for programs first.
newest() {
	newest_path=$1
	shift
	ENTER_PATH=$newest_path "$tests/newest/enter.sh" "$@"
}

# newest_hbfollow - build hbfollow with unstable's compiler and libraries, without a warning.
newest_hbfollow() {
	[ ! "$listing" ] || return 0
	newest "" make -s -C tests -o needs "O=$built" "$built/follow/hbfollow-fake" "$built/follow/hbfollow-plain" \
		"$built/follow/short.so" "$built/native/follow/redis_reply_test" \
		>"$logs/newest-engines.log" 2>&1 && [ ! -s "$logs/newest-engines.log" ]
}

# hbfollow, with each engine of unstable.
suite_newest_engines() {
	built=/source/.cache/build/newest
	newest_hbfollow || {
		bail_out newest-hbfollow "$logs/newest-engines.log" "hbfollow was not built, or with a warning"
		return
	}
	one newest/redis_reply newest "" $built/native/follow/redis_reply_test
	for test in redis postgresql pool lost failover hostile; do
		one "newest/$test" newest $built/follow python3 "tests/follow/${test}_test.py" fake
	done
	one newest/valkey newest /engines/valkey:$built/follow python3 tests/follow/redis_test.py fake
	one newest/valkey_failover newest /engines/valkey:$built/follow python3 tests/follow/failover_test.py fake
	one newest/valkey_lost newest /engines/valkey:$built/follow python3 tests/follow/lost_test.py fake
	# shellcheck disable=SC2016 # dpkg-query's format
	[ "$listing" ] ||
		newest "" dpkg-query -W -f '# figure: ${Package} ${Version}\n' redis-server valkey-server 'postgresql-[1-9]*'
}

# The package for Python, with the Python and the frameworks of later releases of Debian.
suite_newest_python() {
	for debian in trixie sid; do
		python_release $debian
	done
}

python_release() (
	python_payload "newest-python-$1" "$1" || exit
	later=tests/python/full/later.sh
	set -- "newest-python-$1" "--memory 2048"
	# shellcheck disable=SC2046 # names without spaces
	for test in $(cd "$top" && echo tests/python/*_test.py) tests/python/full/flask_test.py; do
		set -- "$@" "$later $test"
	done
	guest "$@"
)

# newest_hbserve - build hbserve with unstable's compiler and libraries. Several suites need it.
newest_hbserve() (
	flock 7
	newest "" make -s -C tests -o needs "O=$built" "$built/serve/hbserve-fake" 7>&-
) 7>"$logs/newest.lock"

# newest_clients - build hbserve, and fetch the clients of memcached from npm.
newest_clients() {
	[ ! "$listing" ] || return 0
	{
		modules=$("$tests/newest/modules.sh") && mkdir -p "$top/.cache/build/newest" &&
			cp -a "$modules/node_modules" "$top/.cache/build/newest" && newest_hbserve
	} >"$logs/newest-clients.log" 2>&1 && [ ! -s "$logs/newest-clients.log" ]
}

suite_newest_memcached() (
	need python3
	for debian in trixie sid; do
		memcached=''
		[ "$listing" ] || memcached=$("$tests/serve/memcached.sh" $debian 2>>"$logs/newest-memcached.log")
		PATH=$top/.cache/build/serve:$memcached/bin:$PATH \
			one "newest/memcached-$debian" env SPLITS=20 "$tests/serve/dialogues.t" memcached-$debian
	done
	built=/source/.cache/build/newest
	newest_clients || {
		bail_out newest-clients "$logs/newest-clients.log" "no hbserve or modules, or with a warning"
		exit
	}
	one newest/clients newest $built/serve unshare --net python3 tests/newest/clients.t clients $built/node_modules
	# shellcheck disable=SC2016 # dpkg-query's format
	[ "$listing" ] || newest "" dpkg-query -W -f '# figure: ${Package} ${Version}\n' memcached ruby-dalli \
		php-memcached python3-pymemcache nodejs libmemcached-tools
)

# newest_dialogues SERVER DIRECTORY - hold the dialogues of Redis' protocol with a server in that directory of the root
# directory.
newest_dialogues() {
	one "newest/$1" newest "$2:/source/.cache/build/serve" env SPLITS=20 tests/serve/dialogues.t "$1"
}

# newest_redis - build hbserve, fetch servers and clients of Redis, and make the payload of a guest with the clients.
newest_redis() {
	[ ! "$listing" ] || return 0
	{
		root=$("$tests/newest/redis_root.sh") && experimental=$("$tests/newest/redis_experimental.sh") &&
			newest_hbserve && build serve &&
			cp "$experimental/redis-server" "$top/.cache/build/newest" &&
			own=$("$tests/newest/redis_own.sh") && rm -rf "$top/.cache/build/newest/django" &&
			cp -a "$own/django" "$top/.cache/build/newest" &&
			"$tests/newest/redis_go.sh" "$tests/newest/redis/go_redis.go" "$top/.cache/build/newest/serve/go_redis" &&
			"$tests/newest/redis_payload.sh" "$payload" "$top/.cache/build/serve/plain/hbserve" \
				"$top/.cache/build/newest/serve/go_redis" \
				"$payload-newest-redis"
	} >"$logs/newest-redis.log" 2>&1 && [ ! -s "$logs/newest-redis.log" ]
}

suite_newest_redis() (
	built=/source/.cache/build/newest
	modules=/usr/share/npm/node_modules
	root='' own=''
	newest_redis || {
		bail_out newest-redis "$logs/newest-redis.log" "no hbserve or clients, or with a warning"
		exit
	}
	need iproute2
	PATH=$top/.cache/build/serve:$PATH one newest/redis_own unshare --net "$tests/newest/redis_own.t" "$own/redis"
	ENTER_ROOT=$root one newest/django_own newest $built/serve python3 tests/newest/django_own.t $built/django
	newest_dialogues redis-sid /usr/bin
	newest_dialogues redis-experimental $built
	newest_dialogues valkey /engines/valkey
	ENTER_ROOT=$root one newest/redis newest $built/serve python3 tests/newest/clients.t redis $modules
	payload=$payload-newest-redis
	[ "$listing" ] || cp -r "$top/.cache/build/newest/results" "$payload/tests/newest"
	guest newest-redis "--memory 3072" HBSERVE=hbserve "tests/newest/clients.t redis $modules"
	# shellcheck disable=SC2016 # dpkg-query's format
	[ "$listing" ] || newest "" dpkg-query -W -f '# figure: ${Package} ${Version}\n' redis-server valkey-server
)

suite_device_full() {
	# shellcheck disable=SC2046 # lists of names, split on purpose
	set -- $(programs "") $(programs -32)
	prepared narrow "not all programs were built in 32 bits" build narrow || return
	on_device device-full "" "$@"
	matrix $stable "$@" $traced tests/device/module.t
	matrix $unstable "$@" $traced tests/device/module.t
}

# on_other NAME OPTIONS PROCESSOR KIB PREEMPTION - run the tests of the interface at a fifth of
# their sizes, and programs with several tasks, on another kind of machine.
on_other() {
	# shellcheck disable=SC2046 # names without spaces
	guest "$1" "$2" SCALE=20 "tests/device/machine.t $3 $4 $5" $(programs "") client_test kept_test \
		"churn $SEED 8000" "lockstress $SEED 2000" "origin $SEED 2000" \
		"history $SEED 1" "threads $SEED 2" tests/device/module.t
}

# use_build SUITE KERNEL COMMAND... - give the next guests the modules that COMMAND builds, and test
# that it prints no warning. Appends a directory and arguments for make to COMMAND.
use_build() {
	[ ! "$listing" ] || return 0
	suite=$1 kernel=$2
	shift 2
	build=$top/.cache/build/module-$suite
	check "module-$suite" "$tests/matrix/module.t" "$kernel" "$build" "$@" "$build" W=1
	[ -s "$build/hashbelt.ko" ] && use_modules "$suite" "$build"
}

suite_rt() (
	headers=''
	if [ ! "$listing" ] && ! headers=$("$tests/vm/kernel.sh" headers rt 2>"$logs/rt.build"); then
		bail_out kernel-rt "$logs/rt.build" "no kernel with PREEMPT_RT"
		return
	fi
	[ "$listing" ] || image=$("$tests/vm/kernel.sh" image rt)
	use_build rt "Debian's kernel with PREEMPT_RT" "$tests/module.sh" --user "$headers" || exit
	on_other rt "" x86_64 4 PREEMPT_RT
	guest busy-rt "--memory 2560 --count-instructions" life/busy_test
)

# use_processor SUITE PROCESSOR - give the next guests programs for another processor. Sets root, the directory with
# its libraries.
use_processor() {
	[ ! "$listing" ] || return 0
	log=$logs/$1.programs
	root=$("$tests/python/root.sh" "$2" 2>"$log") &&
		compiler=$("$tests/cross/kernel.sh" "$2" compiler 2>>"$log") &&
		PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$(echo "$root"/usr/lib/*-linux-gnu/pkgconfig) \
			flock "$logs/$2.lock" make -s -C "$tests" cross O="$top/.cache/build/$2" \
			CC="$compiler --sysroot=$root" >>"$log" 2>&1 &&
		payload=$top/.cache/build/$2/payload && return
	bail_out "programs-$1" "$log" "no programs for $2"
	return 1
}

# on_processor PROCESSOR NAME - run the tests of the interface, those of the bindings, and the exchange of belts with
# x86 on Debian's kernel for another processor, which uname calls NAME.
on_processor() {
	stock=$payload
	use_processor "$1" "$1" &&
		use_build "$1" "$1" "$tests/cross/kernel.sh" "$1" module --user || return
	on_other "$1" "--machine $1" "$2" 4 none
	prepared "$1-bindings" "no payload with the runners" "$tests/conformance/payload.sh" "$payload" \
		"$top/.cache/build/$1/tools" "$payload-bindings" "$1" || return
	payload=$payload-bindings
	judge=tests/conformance/judge.py
	# shellcheck disable=SC2046 # names without spaces
	guest "$1-bindings" "--machine $1 --memory 2048" SPLITS=0 "$judge library" "$judge python" "$judge hbctl" \
		"tests/serve/dialogues.t hbserve" $(cd "$top" && echo tests/python/*_test.py)
	one exchange "$tests/cross/exchange.t" "$1" "$stock" "$payload"
}

suite_arm64() (on_processor arm64 aarch64)
suite_s390x() (on_processor s390x s390x)

suite_arm64_pages() (
	use_processor arm64-pages arm64 && use_kernel arm64-pages arm64 &&
		on_other arm64-pages "--machine arm64 --memory 2048" aarch64 64 PREEMPT
)

# The driver in the tree of a kernel, and built in.
suite_in_tree() (
	one in_tree "$tests/build/in_tree.t"
	if [ ! "$listing" ] && ! image=$("$tests/kernel/kernel.sh" builtin image 2>"$logs/in-tree.build"); then
		bail_out kernel-builtin "$logs/in-tree.build" "no kernel that has hashbelt built in"
		exit
	fi
	guest builtin "--append hashbelt.max_belts=77777 --append hashbelt.buckets=7" tests/device/builtin.t
	# reader_test counts references to a module.
	# shellcheck disable=SC2046 # names without spaces
	guest in-tree "" SCALE=5 $(programs "" | grep -v reader_test) $traced client_test kept_test
)

suite_models() {
	one models/litmus "$tests/models/run.sh" litmus
	if [ "$size" = full ]; then
		for model in entry request queue fill follow window; do
			one "models/$model" "$tests/models/run.sh" "$model"
		done
		one models/trail "$tests/models/trail.t"
	else
		one models/reviewed "$tests/models/run.sh" reviewed
	fi
}

# These build for several suites. A kernel is built with all processors.

# made NAME COMMAND... - a check: the command makes what other suites need. What it says of a kernel that it
# builds is passed on at once.
made() {
	what=$1
	shift
	begin_check "$what"
	echo 1..1
	{
		"$@" 2>&1 || echo "made: status $?"
	} | tee "$logs/$what.log" | stdbuf -oL sed -n 's/^kernel.sh: \(building .*\)/# now: \1/p'
	if ! grep -q '^made: status ' "$logs/$what.log"; then
		echo "ok 1 - $what is there"
		end "$what" 0
		return
	fi
	echo "not ok 1 - $what is there"
	tail -n 40 "$logs/$what.log" | sed 's/^/# /'
	end "$what" 1
	return 1
}

make_payload() {
	build payload || return
	if [ -n "${ACCESS_LOG:-}" ]; then
		gzip -dcf "$ACCESS_LOG" >"$payload/real.log"
	else
		rm -f "$payload/real.log"
	fi
}

suite_payload() { [ "$listing" ] || made payload make_payload; }
suite_kernel_uml() { [ "$listing" ] || made kernel-uml "$tests/kernel/kernel.sh" uml image; }
suite_kernel_debug() { [ "$listing" ] || made kernel-debug "$tests/kernel/kernel.sh" debug image; }
suite_kernel_kcsan() { [ "$listing" ] || made kernel-kcsan "$tests/kernel/kernel.sh" kcsan image; }

# bare SUITE [COMMAND...] - run commands on a bare Debian of that suite, on a clone of the last commit. Their
# output is in the suite's log.
bare() {
	[ "$listing" ] || made "bare-$1" "$tests/bare.sh" "$@"
}

suite_bare_bookworm() { bare bookworm "make run" "make check" "make test" ordinary "make test"; }
suite_bare_trixie() { bare trixie "make run" "make test"; }
suite_bare_sid() { bare sid "make run" "make test"; }
