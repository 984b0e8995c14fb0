#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [--quick | --all | SUITE...] - run tests and count results. Without an argument, run the
# suites that a change has to pass; with --all also those that take hours; with --quick the tests
# that find most mistakes within two minutes of an edit: native, sparse, short kunit and device.
#
#	native	tests that need no kernel: parsers, usage
#	device	every ioctl, and the module itself
#	memory	memory that the module takes and gives back, in large and small guests
#	life	loading, unloading, sleep, out of memory, a starved worker, many entries and belts
#	hbctl	the tool, with the module
#	serve	hbserve: each command and error as with memcached, clients of several languages, limits,
#		signals, TLS; with sanitizers, with the module and without
#	follow	hbfollow with Redis and PostgreSQL: what they tell, and connections that break; with
#		sanitizers, with the module and without
#	rings	hbserve behind nutcracker, and which clients agree on the servers of keys
#	python	the package hashbelt for Python, with the module: processes, threads, killed owners;
#		Django, cachelib, limits and dogpile.cache
#	conformance	the same cases, which are data, by the C library, hbctl, Python and hbserve
#	store	the tool's locks in a PostgreSQL, which the suite starts
#	examples	the promises of the programs of examples/, "make run EXAMPLE=...", and the
#		commands that README.md, docs/ and the manual page show
#	stress	all operations at once on four processors, which go offline and come back
#	history	long histories against a model; linearizability of concurrent operations
#	cost	the cost of an operation does not depend on the size of a belt; a full belt misses
#		as often as the simulated one
#	kunit	the core without a device, under User-Mode Linux
#	harness	the test machine, tally.awk and words.awk notice failures
#	fault	each allocation and each copy of user memory fails, on the debug kernel
#	fuzz	random calls, steered by the code that they reach, on the debug kernel; random
#		input for hbctl and hbserve
#	build	builds for 32 bits, other processors, C++; the module with all warnings on
#	models	the models of docs/races.md
#	debug	device, stress and examples on a kernel that checks memory, locks, contexts and
#		leaks; counts the lines of the module that are run
#	kcsan	as debug, on a kernel that finds data races
#	kernels	what differs between kernels, on those of Debian stable and unstable
#
# Only with --all, or by name:
#
#	device-full	device in 64 and 32 bits at full size, on all three kernels
#	checked-full	debug and kcsan with ten times the operations
#	life-full	10,000,000 entries
#	machines	eight processors, two nodes of memory, other preemption, cgroups of version 1
#	strict	on a kernel whose grace periods are short, and whose free memory is poisoned
#	kmsan	on a kernel that reports memory that is used before it is written
#	clang	on a kernel that clang has built, and that takes warnings as errors
#	rt	device and stress in short, on Debian's kernel with PREEMPT_RT
#	arm64	the same on Debian's kernel for arm64
#	arm64-pages	the same with pages of 64 KiB
#	fuzz-faults	random calls in which an allocation or a copy of user memory fails
#	soak	histories, then random input for hbctl and hbserve, then random calls, for SOAK seconds each
#	python-full	Django's own tests of caches and sessions, of 3.2 and 4.2, on belts; Flask; with the
#			Python of Debian 13 as well; the examples with the workers of gunicorn and uvicorn
#	serve-full	hbserve with PHP, Node.js, Go, nginx, and memcached as a proxy; its memory after
#			100,000,000 operations
#	follow-full	long histories of belts that follow an engine; more ways to cut its connection
#	packages	the Debian packages and hashbelt.spec: built, installed, upgraded and purged in
#			root directories of Debian 12, 13 and unstable, and booted in a guest
#	confined	what docs/hardening.md says of lockdown, AppArmor, SELinux and containers, on
#			Debian's kernel, and with podman and docker on a Debian with systemd; the units
#			of hbserve and hbfollow there
#	mutation	ten random edits of one token of the module, chosen by SEED: tests find them
#
# And by name only:
#
#	sparse	warnings of sparse and the compiler for the files that have changed
#
# ONLY="NAME..." in the environment selects programs of the suites, "rights_test churn trace.t", and
# cases and suites of KUnit, "hashbelt_wheel touch_makes_no_version". A name stands for the program
# with any arguments, in 64 and 32 bits; "stress:2:8000" and "rights_test-32" stand for one of
# these. For each program that failed, the end of the output has the command that runs it again.
#
# SEED is the first of the numbers from which random tests start: 1, or "random" for a new one, as
# with --all.
#
# The output of each suite stays in .cache/build/test. The last line is "N passed, N failed,
# N skipped"; the exit status is 0 only if none failed.
#
# A suite with another kernel is a function in a subshell.
# shellcheck disable=SC2030,SC2031
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/environment.sh
. "$tests/environment.sh"
# Two suites at a time, in this order: the quickest to fail come first, then the longest, then the
# rest. The suite that measures latencies runs alone, at the end.
together='native build kunit debug kcsan fuzz kernels device life fault stress harness hbctl
	serve rings follow python conformance store cost history models examples'
behind=memory
long='device-full checked-full life-full machines strict kmsan clang rt arm64 arm64-pages
	fuzz-faults soak python-full serve-full follow-full packages confined mutation'
by_name=sparse
quick=''
last=''
payload=$top/.cache/build/payload
traced=tests/device/trace.t	# needs trace points
examples=$(cd "$top" && echo tests/examples/*.t)	# tests of the programs of examples/
# Tests of the interface that are run in 32 bits: those that depend on the size of a word, and
# two that together make every call with every wrong argument.
narrow=$(sed -n 's|^narrow := ||p' "$tests/Makefile")
image=''	# the kernel that guests boot; empty: the stock kernel
logs=$top/.cache/build/test

# check_names SUITE... - check that these suites exist.
check_names() {
	for suite; do
		# shellcheck disable=SC2086 # lists of names, split on purpose
		printf '%s\n' $together $behind $long $by_name | grep -Fqx -e "$suite" || {
			echo "run.sh: no such suite: $suite; there are:" \
				$together $behind $long $by_name >&2
			return 1
		}
	done
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
	begin "$name"
	"$@"
	end "$name" $?
}

# check NAME COMMAND... - run a command that prints TAP and on which others depend.
check() {
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

# chosen "PROGRAM [ARGUMENT]..." - true if ONLY is empty, or has the program's name, or its name
# with these arguments in the form that tally.awk prints.
chosen() {
	chosen=${1%% *}
	chosen=${chosen##*/}
	chosen=${chosen%-32}
	exact=$(echo "$1" | sed 's|^[^ ]*/||; s/ /:/g')
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
			;;
		esac
		set -- "$@" "$argument"
	done
	[ $programs != 0 ] || return 0
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
	[ $# = 0 ] || "$tests/confined/machine.sh" "$logs/$machine_name" "$machine_arguments" "$@"
}

suite_native() {
	"$tests/need.sh" fish zsh
	one duration "$top/.cache/build/native/duration_test"
	one encoding "$top/.cache/build/native/encoding_test"
	one words "$top/.cache/build/native/words_test"
	one top "$top/.cache/build/native/top_test"
	one bench "$top/.cache/build/native/bench_test"
	one window "$top/.cache/build/native/window_test"
	one window_threads "$top/.cache/build/native/window_threads"
	one linear "$top/.cache/build/native/linear_test"
	one simulate "$top/.cache/build/native/simulate_test"
	for part in options auth listen tls parser output; do
		one "serve_$part" "$top/.cache/build/native/serve/${part}_test"
	done
	for part in target keys options metrics redis_reply; do
		one "follow_$part" "$top/.cache/build/native/follow/${part}_test"
	done
	"$tests/need.sh" python3 python3-pytest
	"$top/bindings/python/generate.py"
	LD_LIBRARY_PATH=$top/.cache/build/tools-guest one python_native "$tests/python/native_test.py"
	one python_install "$tests/python/install.t" "$top/.cache/build/tools-guest"
	one links "$tests/docs/links.t"
	PATH=$payload:$PATH one usage "$tests/hbctl/usage.t"
	PATH=$payload:$PATH one lock_usage "$tests/hbctl/lock_usage.t"
	PATH=$payload:$PATH one apply_usage "$tests/hbctl/apply_usage.t"
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
brief='entry_test event_test belt_test lock_test request_test set_test scan_test full_test race_test'

suite_device() {
	# shellcheck disable=SC2046,SC2086 # lists of names, split on purpose
	if [ "$quick" ] && [ ! "${ONLY-}" ]; then
		guest device "" SCALE=5 $(programs "" $brief)
	else
		# module.t has no sizes: debug runs it, with checkers. Here it runs if it is named.
		guest device "" $(programs "") $(programs -32 $narrow) $traced \
			${ONLY:+tests/device/module.t}
	fi
}

# squeeze GUEST MIB PROGRAM... - run programs in a guest with little memory, which needs a payload
# of its own: other files would take too much of that memory.
squeeze() (
	name=$1 memory=$2 all=$payload
	shift 2
	payload=$all-$name
	{
		rm -rf "$payload" && mkdir "$payload" && cd "$all" &&
			cp -p --parents hashbelt.ko guest.sh "$@" "$payload"
	} >"$logs/$name.log" 2>&1 || {
		bail_out "$name" "$logs/$name.log" "no payload for the guest with little memory"
		return
	}
	guest "$name" "--memory $memory" "$@"
)

# Guests with much memory and with little, and guests that count instructions.
suite_memory() {
	guest memory "--memory 2048" memory/cgroup_test \
		memory/pressure_test memory/charge_test memory/writers_test memory/large_test \
		memory/requests_test memory/behind_test memory/allocator_test
	guest shrink "--cpus 4" memory/shrink_test
	squeeze squeeze 320 memory/squeeze_test memory/wipe_test
	guest lag "--count-instructions" memory/lag_test memory/purgatory_test \
		memory/drain_test memory/evict_test
}

# lockup NAME [OPTION]... - run lockup_test, in a guest in which two seconds are 8,000,000
# instructions.
lockup() {
	locking=$1
	shift
	guest "$locking" "--count-instructions --shift 8 --append nosoftlockup $*" \
		"life/lockup_test 100000"
}

# Guests that are short of memory or processor time, that sleep, or that have many objects.
suite_life() {
	guest life-module "--append slub_debug=F" life/module_test
	guest life "" life/starve_test life/suspend_test tests/life/livepatch.t
	squeeze life-oom 352 life/oom_test
	lockup life-lockup
	guest life-entries "--memory 4096" "life/many_test 1000000"
	guest life-belts "--memory 2560 --count-instructions" life/jump_test life/fair_test \
		life/polled_test life/mapped_test "life/belts_test 100000"
}

suite_life_full() {
	guest life-full "--memory 4096" "life/many_test 10000000"
}

suite_hbctl() {
	guest hbctl "" client_test tests/hbctl/hbctl.t \
		tests/hbctl/many.t tests/hbctl/settings.t tests/hbctl/apply.t tests/hbctl/events.t \
		tests/hbctl/top.t tests/hbctl/table.t tests/hbctl/bench.t \
		tests/hbctl/lock.t
	guest hbctl-files "" tests/hbctl/save.t tests/hbctl/reload.t
	guest hbctl-waits "" tests/hbctl/incr.t tests/hbctl/wait.t \
		tests/hbctl/watch.t tests/hbctl/handle.t tests/hbctl/fill.t
}

# serve_payload SUITE [full] - build hbserve with sanitizers, and give the next guests a payload of their own
# with it and with clients of memcached.
serve_payload() {
	{
		make -s -C "$tests" serve &&
			"$tests/serve/payload.sh" "$payload" "$top/.cache/build/serve" "$payload-$1" ${2:+"$2"}
	} >"$logs/$1.log" 2>&1 && payload=$payload-$1 && return
	bail_out "$1" "$logs/$1.log" "no hbserve, or no clients for it"
	return 1
}

suite_serve() (
	"$tests/need.sh" fish zsh
	serve_payload serve || exit
	memcached=$("$tests/unpack.sh" memcached usr/bin/memcached)
	PATH=$top/.cache/build/serve:${memcached%/*}:$PATH
	one serve_usage "$tests/serve/usage.t"
	for server in memcached hbserve-fake hbserve-threads; do
		one "serve/$server" "$tests/serve/dialogues.t" $server
	done
	guest serve "--memory 2048" SPLITS=20 "tests/serve/dialogues.t hbserve" tests/serve/share.t tests/serve/window.t \
		tests/serve/clients.t tests/serve/access.t tests/serve/robust.t
)

suite_rings() (
	"$tests/need.sh" iproute2 python3 python3-pylibmc python3-pymemcache python3-memcache \
		libmemcached-tools libyaml-0-2
	serve_payload rings || exit
	nutcracker=$("$tests/unpack.sh" nutcracker usr/sbin/nutcracker)
	PATH=$top/.cache/build/serve:${nutcracker%/*}:$PATH \
		one ring_clients unshare --net "$tests/serve/ring_clients.t"
	guest rings "--memory 2048" tests/serve/ring_commands.t tests/serve/ring_killed.t
)

suite_serve_full() (
	serve_payload serve-full full || exit
	memcached=$("$tests/serve/memcached.sh" 2>>"$logs/serve-full.log")
	PATH=$top/.cache/build/serve:$PATH one proxy "$tests/serve/full/proxy.t" "$memcached/run"
	PATH=$top/.cache/build/serve:$PATH one serve/hbserve-plain \
		"$tests/serve/full/memory.t" hbserve-plain 100000000
	guest serve-full "--memory 3072" tests/serve/full/others.t \
		"tests/serve/full/memory.t hbserve 10000000"
)

# follow_payload - build hbfollow with sanitizers, and give the next guests a payload of their own with it,
# Redis and PostgreSQL.
follow_payload() {
	{
		make -s -C "$tests" follow && "$tests/store/need.sh" &&
			"$tests/need.sh" python3 python3-redis python3-psycopg2 &&
			"$tests/follow/payload.sh" "$payload" "$top/.cache/build/tools-guest" \
				"$top/.cache/build/follow" "$payload-follow"
	} >"$logs/follow.log" 2>&1 && payload=$payload-follow && return
	bail_out follow "$logs/follow.log" "no hbfollow, or no engine for it"
	return 1
}

suite_follow() (
	"$tests/need.sh" fish zsh
	follow_payload || exit
	PATH=$top/.cache/build/follow:$PATH one follow_usage "$tests/follow/usage.t"
	for test in redis postgresql lost hostile; do
		PATH=$top/.cache/build/follow:$PATH one "follow/$test" "$tests/follow/${test}_test.py" fake
	done
	guest follow "--memory 2048" tests/follow/redis_test.py tests/follow/postgresql_test.py \
		tests/follow/lost_test.py
	guest follow-coherent "--memory 2048" "tests/follow/history_test.py 60 $SEED" tests/follow/cut_test.py \
		tests/follow/recipes_test.py
)

suite_follow_full() (
	follow_payload || exit
	guest follow-full "--memory 2048" "tests/follow/history_test.py 2000 $SEED" "tests/follow/cut_test.py all"
)

# python_payload SUITE [full] - give the next guests a payload of their own with Python and the package.
python_payload() {
	"$tests/python/payload.sh" "$payload" "$top/.cache/build/tools-guest" "$payload-$1" ${2:+"$2"} \
		>"$logs/$1.log" 2>&1 && payload=$payload-$1 && return
	bail_out "$1" "$logs/$1.log" "no payload with Python"
	return 1
}

suite_python() (
	python_payload python || exit
	# shellcheck disable=SC2046 # names without spaces
	guest python "" $(cd "$top" && echo tests/python/*_test.py)
)

suite_python_full() (
	python_payload python-full full || exit
	later=tests/python/full/later.sh
	# shellcheck disable=SC2046 # names without spaces
	guest python-full "--memory 3072" "tests/python/full/own.py /django/3.2 3.2" \
		"$later tests/python/full/own.py /django/4.2 4.2" "$later tests/python/django_test.py" \
		"$later tests/python/full/shared_session.py" \
		"$later tests/python/belt_test.py" "$later tests/python/fill_test.py" \
		"$later tests/python/events_test.py" "$later tests/python/lock_test.py" \
		"$later tests/python/request_test.py" "$later tests/python/cachelib_test.py" \
		$(cd "$top" && echo tests/python/full/*_test.py)
)

suite_conformance() (
	"$tests/need.sh" python3
	one conformance_data "$tests/conformance/data_test.py"
	{
		make -s -C "$tests" conformance &&
			"$tests/conformance/payload.sh" "$payload" "$top/.cache/build/tools-guest" \
				"$top/.cache/build/conformance" "$payload-conformance"
	} >"$logs/conformance.log" 2>&1 || {
		bail_out conformance "$logs/conformance.log" "no payload with the runners"
		return
	}
	payload=$payload-conformance
	judge=tests/conformance/judge.py
	guest conformance "" "$judge library" "$judge hbctl" "$judge python" \
		"$judge memcached-meta" "$judge memcached-text"
)

suite_store() {
	make -s -C "$tests" store >"$logs/store.log" 2>&1 || {
		bail_out store "$logs/store.log" "hbctl for a store was not built"
		return
	}
	"$tests/need.sh" iproute2 libfaketime
	for test in lock hold reach failover away example manual; do
		PATH=$top/.cache/build/tools:$PATH one "store/$test" "$tests/store/$test.t"
	done
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
		"stress $SEED" "churn $SEED" "lockstress $SEED" "origin $SEED" \
		"threads $SEED 2" device/race_test device/bound_test "$@"
}

suite_stress() {
	crowd stress 4 "" "" "stress $((SEED + 1))" "stress $((SEED + 2))" \
		"churn $((SEED + 1))" "lockstress $((SEED + 1))" "origin $((SEED + 1))"
}

suite_machines() {
	crowd processors 8 "" ""
	for preemption in none full; do
		crowd "preempt-$preemption" 4 "--append preempt=$preemption" "1 $preemption"
	done
	lockup preempt-lockup --append preempt=none
	crowd numa 4 "--numa --memory 2048" 2 memory/cgroup_test memory/pressure_test \
		memory/behind_test
	guest cgroup1 "--memory 2048" "memory/cgroup_test 1"
}

# The kernel "strict" supports four processors at most.
suite_strict() (
	use_kernel strict strict || exit
	poisoned="--memory 2048 --append page_poison=1"
	crowd strict 4 "$poisoned" ""
	# shellcheck disable=SC2046 # names without spaces
	guest strict-device "$poisoned" SCALE=20 $(programs "") client_test
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
	image=$("$tests/kernel/kernel.sh" clang image)
	# shellcheck disable=SC2046 # names without spaces
	guest clang "" SCALE=20 $(programs "") client_test
)

suite_history() {
	guest history "" "history $SEED 1" "history $((SEED + 1)) 2" "threads $SEED 10" \
		"newest $SEED 10"
	guest history-four "--cpus 4" "threads $((SEED + 1)) 10 window" "newest $((SEED + 1)) 10"
}

# use_modules SUITE DIRECTORY - give the next guests the modules of DIRECTORY, in a payload of the
# suite's own: another suite may use the common payload.
use_modules() {
	rm -rf "$payload-$1.new" && cp -al "$payload" "$payload-$1.new" &&
		cp --remove-destination "$2/hashbelt.ko" "$2/user/hashbelt_user.ko" "$payload-$1.new" &&
		rm -rf "$payload-$1" && mv "$payload-$1.new" "$payload-$1" && payload=$payload-$1
}

# use_kernel SUITE NAME - run the next guests on a kernel of kernel/kernel.sh.
use_kernel() {
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
		"stress $SEED $operations" "churn $SEED $operations" \
		"lockstress $SEED $((operations / 4))" "origin $SEED $((operations / 4))" \
		"newest $SEED 2" client_test \
		$(programs "") $(programs -32 argument_test service_test)
}

# kmemleak makes an allocation several times slower, so leaks are searched for in a separate guest,
# at the smallest sizes: code that leaks does so at its first run. These programs make every call of
# the device; kunit finds leaks of the core, and fault finds those of error paths.
leaking='ack_test argument_test batch_test belt_test entry_test lock_test parameter_test queue_test
	request_test rights_test scan_test service_test set_test wait_test'

suite_debug() (
	use_kernel debug debug || exit
	on_checked debug 8000 "--append kmemleak=off"
	[ -n "${ONLY:-}" ] || check lines "$tests/coverage.sh" "$logs/lines.txt" "$module" \
		"$logs/debug/output.log" "$guest_status"
	# shellcheck disable=SC2046,SC2086 # names, split on purpose
	guest leaks "--memory 2048" LEAKS=yes SCALE=1 client_test $(programs "" $leaking)
)

# Programs with several tasks.
racing='ack_test belt_test bound_test event_test limit_test lockwait_test memory_test queue_test
	poll_test race_test reader_test request_wait_test set_test storm_test wait_test'

suite_kcsan() (
	use_kernel kcsan kcsan || exit
	# shellcheck disable=SC2046,SC2086 # names, split on purpose
	guest kcsan "--memory 2048" SCALE=5 "life/machine_test 2" "stress $SEED 8000" "churn $SEED 8000" \
		"lockstress $SEED 2000" "origin $SEED 2000" "threads $SEED 2 window" "newest $SEED 2" \
		$(programs "" $racing)
)

suite_checked_full() {
	(use_kernel debug-full debug && on_checked debug-full 80000 "" LEAKS=yes)
	(use_kernel kcsan-full kcsan && on_checked kcsan-full 200000 "")
}

suite_fault() (
	log=$logs/fault.build
	if ! image=$("$tests/kernel/kernel.sh" debug image 2>"$log") ||
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
	one syzlang "$tests/fuzz/syzlang.t"
	one parsers "$tests/fuzz/parsers.sh" hbctl "-seed=$SEED" -runs=150000
	one requests "$tests/fuzz/parsers.sh" request "-seed=$SEED" -runs=200000
	one connections "$tests/fuzz/parsers.sh" connection "-seed=$SEED" -runs=5000
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
	use_kernel soak debug || exit
	fuzz soak-fuzz --seed "$SEED" --seconds "${SOAK:-3600}"
)

# If nine of ten of all mutants are found, four or more of ten random ones survive once in 80 runs.
suite_mutation() {
	one mutation "$tests/mutation/run.sh" --sample 10 --seed "$SEED" --goal 70
}

# sources.t leaves the packages that debian.t installs.
suite_packages() {
	check packages "$tests/packages/sources.t"
	for debian in bookworm trixie sid; do
		one "packages/$debian" "$tests/packages/debian.t" $debian
	done
	one packages/boot "$tests/packages/boot.t"
	one packages/secureboot "$tests/packages/secureboot.t"
}

# The payload gets what only these guests need.
suite_confined() {
	"$tests/confined/payload.sh" "$payload" >"$logs/confined.log" 2>&1 || {
		bail_out confined "$logs/confined.log" "no payload for the tests of confinement"
		return
	}
	guest confined "" tests/confined/container.t tests/confined/lockdown.t
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
	guest cost-misses "" misses_test
	guest cost-share "" share_test
}

# Prints KUnit's stderr as remarks, warnings ("!") last: the summary repeats the last remarks.
kunit() {
	"$tests/kunit/run.sh" ${quick:+--no-kmemleak} ${ONLY:+--only "$ONLY"} \
		2>"$logs/kunit.err"
	kunit_status=$?
	grep -v '^!' "$logs/kunit.err" | sed 's/^/# /'
	grep '^!' "$logs/kunit.err" | sed 's/^/# /'
	return $kunit_status
}

suite_kunit() {
	echo "# begin-cases kunit"
	kunit
	end kunit $?
}

# Only changed files are compiled and checked. After a warning all files are checked again.
sparse() {
	echo 1..1
	"$tests/module.sh" "$("$tests/vm/kernel.sh" headers)" "$top/.cache/build/module-sparse" \
		W=1 C=1 CF=-D__CHECK_ENDIAN__ >"$logs/sparse.log" 2>&1
	sparse_status=$?
	if [ $sparse_status = 0 ] && [ ! -s "$logs/sparse.log" ]; then
		echo "ok 1 - the module compiles without a warning of gcc or sparse"
		return
	fi
	rm -rf "$top/.cache/build/module-sparse"
	sed 's/^/# /' "$logs/sparse.log"
	echo "not ok 1 - the module compiles without a warning of gcc or sparse"
	return 1
}

suite_sparse() {
	"$tests/need.sh" sparse
	one sparse sparse
}

suite_harness() {
	one tally "$tests/tally.t"
	one words "$tests/words.t"
	one signed "$tests/signed.t"
	one harness "$tests/vm/selftest.sh"
}

suite_build() {
	one build "$tests/build/build.t"
	one make "$tests/build/make.t"
	one monitoring "$tests/build/monitoring.t"
	one prometheus "$tests/build/prometheus.t"
}

# Programs that use what differs between kernels: the shrinker and accounting, timers, waiting,
# files and their polling, copies of user memory, trace points.
differing='entry_test memory_test storm_test belt_test event_test lockwait_test argument_test'

# matrix SUITE PROGRAM... - run programs on the kernel of another suite of Debian.
matrix() (
	kernel=$tests/matrix/kernel.sh
	build=$top/.cache/build/module-$1
	debian=$1
	shift
	"$kernel" "$debian" release >/dev/null
	check "module-$debian" "$tests/matrix/module.t" "Debian $debian" "$build" \
		"$kernel" "$debian" module "$build"
	[ -s "$build/hashbelt.ko" ] || return
	use_modules "$debian" "$build" || return
	cp "$tests/matrix/guest.t" "$payload/tests" || return
	image=$("$kernel" "$debian" image)
	guest "device-$debian" "--append maxcpus=1" \
		"tests/guest.t $("$kernel" "$debian" release)" tests/device/trace.t "$@"
)

suite_kernels() {
	for debian in trixie sid; do
		# shellcheck disable=SC2046,SC2086 # lists of names, split on purpose
		matrix $debian $(programs "" $differing) $(programs -32 service_test)
	done
}

suite_device_full() {
	# shellcheck disable=SC2046 # lists of names, split on purpose
	set -- $(programs "") $(programs -32)
	make -s -C "$tests" narrow >"$logs/narrow.log" 2>&1 || {
		bail_out narrow "$logs/narrow.log" "not all programs were built in 32 bits"
		return
	}
	on_device device-full "" "$@"
	matrix trixie "$@" tests/device/module.t
	matrix sid "$@" tests/device/module.t
}

# on_other NAME OPTIONS PROCESSOR KIB PREEMPTION - run the tests of the interface at a fifth of
# their sizes, and programs with several tasks, on another kind of machine.
on_other() {
	# shellcheck disable=SC2046 # names without spaces
	guest "$1" "$2" SCALE=20 "tests/device/machine.t $3 $4 $5" $(programs "") client_test \
		"stress $SEED 8000" "churn $SEED 8000" "lockstress $SEED 2000" \
		"origin $SEED 2000" \
		"history $SEED 1" "threads $SEED 2" "newest $SEED 2" tests/device/module.t
}

# use_build SUITE KERNEL COMMAND... - give the next guests the modules that COMMAND builds, and test
# that it prints no warning. Appends a directory and arguments for make to COMMAND.
use_build() {
	suite=$1 kernel=$2
	shift 2
	build=$top/.cache/build/module-$suite
	check "module-$suite" "$tests/matrix/module.t" "$kernel" "$build" "$@" "$build" W=1
	[ -s "$build/hashbelt.ko" ] && use_modules "$suite" "$build"
}

suite_rt() (
	if ! headers=$("$tests/vm/kernel.sh" headers rt 2>"$logs/rt.build"); then
		bail_out kernel-rt "$logs/rt.build" "no kernel with PREEMPT_RT"
		return
	fi
	image=$("$tests/vm/kernel.sh" image rt)
	use_build rt "Debian's kernel with PREEMPT_RT" "$tests/module.sh" --user "$headers" &&
		on_other rt "" x86_64 4 PREEMPT_RT
)

# use_arm64 SUITE - give the next guests programs for arm64.
use_arm64() {
	log=$logs/$1.programs
	compiler=$("$tests/cross/kernel.sh" arm64 compiler 2>"$log") &&
		flock "$logs/arm64.lock" make -s -C "$tests" programs \
			O="$top/.cache/build/arm64" CC="$compiler" >>"$log" 2>&1 &&
		payload=$top/.cache/build/arm64/payload && return
	bail_out "programs-$1" "$log" "no programs for arm64"
	return 1
}

suite_arm64() (
	use_arm64 arm64 &&
		use_build arm64 "arm64" "$tests/cross/kernel.sh" arm64 module --user &&
		on_other arm64 "--machine arm64" aarch64 4 none
)

suite_arm64_pages() (
	use_arm64 arm64-pages && use_kernel arm64-pages arm64 &&
		on_other arm64-pages "--machine arm64 --memory 2048" aarch64 64 PREEMPT
)

suite_models() {
	for model in entry request queue fill follow window hints litmus; do
		one "models/$model" "$tests/models/run.sh" "$model"
	done
	one models/trail "$tests/models/trail.t"
}

# note_spent NAME - record the processor time of this shell's children so far, user and system,
# for say_spent. Not for a subshell, whose times begin with 0.
note_spent() {
	times >"$logs/$1.times"
}

# say_spent NAME SINCE [PART]... - print the wall-clock time since SINCE, and the processor time
# of NAME and of each PART, which another shell has recorded.
say_spent() {
	what=$1 since=$2
	shift 2
	(cd "$logs" && for part in "$what" "$@"; do tail -n 1 "$part.times"; done) |
		awk -v what="$what" -v wall="$(($(date +%s) - since))" '{
			gsub(/s/, "")
			split($1, user, "m")
			split($2, sys, "m")
			spent += (user[1] + sys[1]) * 60 + user[2] + sys[2]
		}
		END { printf "-- %s ended after %d s, %d s of processor time\n", what, wall, spent + 0.5 }' >&2
}

# carry_out SUITE - run a suite in a subshell, whose children's time is the suite's.
carry_out() (
	"suite_$(echo "$1" | tr - _)"
	status=$?
	note_spent "$1"
	exit $status
)

# suite NAME - run a suite. Its output is passed on at its end, as a whole, so that the outputs of
# two suites do not mix; its last line says that the suite has come to its end.
suite() {
	echo "-- $1" >&2
	echo "# suite-begin $1" >"$logs/$1.tap"
	began_suite=$(date +%s)
	echo "0m0s 0m0s" >"$logs/$1.times"
	carry_out "$1" >>"$logs/$1.tap" 2>"$logs/$1.stderr"
	echo "# suite $1 $?" >>"$logs/$1.tap"
	say_spent "$1" "$began_suite"
	flock "$logs/lock" cat "$logs/$1.tap"
}

# take - print the name of the next suite, read from descriptor 8.
take() {
	# shellcheck disable=SC2016 # for that shell to expand
	flock "$logs/lock" sh -c 'read -r next <&8 && echo "$next"'
}

# work - run the next suite until there are no more.
work() {
	while next=$(take); do
		suite "$next" 8<&-
	done
}

# kernels_of SUITE... - print the kernels of kernel/kernel.sh that these suites need.
kernels_of() {
	for suite; do
		case $suite in
		kunit) echo uml ;;
		debug | fault | fuzz | fuzz-faults | soak) echo debug ;;
		mutation) printf '%s\n' uml debug ;;
		kcsan | strict | kmsan | clang) echo "$suite" ;;
		checked-full) printf '%s\n' debug kcsan ;;
		esac
	done | sort -u
}

# make_kernels SUITE... - build the kernels that the suites need, one after the other: each build
# uses all processors. A suite reports if its kernel could not be built.
make_kernels() {
	began_kernels=$(date +%s)
	for kernel in $(kernels_of "$@"); do
		"$tests/kernel/kernel.sh" "$kernel" image
	done >"$logs/kernels.log" 2>&1
	note_spent own-kernels
	say_spent own-kernels "$began_kernels"
}

# make_payload - build the programs for guests and for this machine.
make_payload() {
	make -s -j "$(nproc)" -C "$tests" payload native >"$logs/build.log" 2>&1 || {
		cat "$logs/build.log" >&2
		echo "0 passed, 1 failed, 0 skipped"
		exit 1
	}
	if [ -n "${ACCESS_LOG:-}" ]; then
		gzip -dcf "$ACCESS_LOG" >"$payload/real.log"
	else
		rm -f "$payload/real.log"
	fi
	note_spent payload
	say_spent payload "$began"
}

# choose_seed - sets SEED to a number, to which a shell can add.
choose_seed() {
	case ${SEED:-1} in
	random) SEED=$(date +%s) ;;
	*[!0-9]* | 0* | ??????????????????*)
		echo "run.sh: SEED is a number from 1 on, or random: $SEED" >&2
		return 1
		;;
	*) SEED=${SEED:-1} ;;
	esac
}

# settings - print the settings of this run, for the commands that run tests again.
settings() {
	echo "SEED=$SEED"
	env | grep -E '^(SOAK|ACCESS_LOG)=[[:graph:]]+$'
}

workers=1
case "$*" in
--quick)
	quick=yes workers=2
	set -- kunit device native sparse
	;;
'' | --all)
	[ "$*" = --all ] && SEED=${SEED:-random} || long=''
	# shellcheck disable=SC2086 # lists of names, split on purpose
	set -- $together $long
	workers=2
	last=$behind
	;;
esac

check_names "$@" && choose_seed || exit 1
began=$(date +%s)
mkdir -p "$logs"
[ "${CACHE-}" != none ] || rm -rf "$top/.cache/cold"
make_payload
printf '%s\n' "$@" | {
	exec 8<&0 </dev/null
	make_kernels "$@" 8<&-
	[ $workers = 1 ] || work &
	work
	wait
	[ -z "$last" ] || suite "$last"
	note_spent all
	say_spent all "$began" payload
} | awk -v suites="$* $last" -v settings="$(settings | tr '\n' ' ')" -f "$tests/tally.awk"
