#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [--quick | --all | SUITE...] - run tests and count. Without an argument, the suites
# that a change has to pass; with --all those that take hours as well; with --quick what shows
# most mistakes within two minutes of an edit: native, sparse, and kunit and device in short.
#
#	native	what needs no kernel: parsers, usage
#	device	every ioctl, and the module itself
#	memory	what the module takes and gives back: much of it, and little
#	life	that it comes and goes, and lives through what happens to a machine
#	hbctl	the tool, against the module
#	store	its locks in a PostgreSQL, which is started for that
#	examples	what the programs of examples/ promise, and that people can run them
#	stress	everything at once on four processors, which come and go
#	history	long histories against a model; an order for what threads do
#	cost	the cost of an operation does not depend on the size of a belt
#	kunit	the core without a device, under User-Mode Linux
#	harness	that the machine for the tests can fail, and who counts what they say
#	fault	each allocation and each copy of user memory fails, on the debug kernel
#	fuzz	random calls, steered by what they reach, on that kernel as well; and
#		random input for hbctl
#	build	for 32 bits, other processors, C++; the module with all warnings on
#	models	docs/races.md by machine
#	debug	much of this on a kernel that checks memory, locks, contexts and leaks, and
#		how many lines of the module that runs
#	kcsan	as debug, on a kernel that sees races on data
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
#	rt	device and stress in short, on Debian's kernel with PREEMPT_RT
#	arm64	the same on Debian's kernel for arm64
#	arm64-pages	the same with pages of 64 KiB
#	fuzz-faults	random calls in which an allocation or a copy of user memory fails
#	soak	histories for SOAK seconds, then the two of fuzz for as long each
#	mutation	ten edits of one token of the module, drawn by SEED: a test has to notice
#
# And by name only:
#
#	sparse	what sparse and the compiler say of the files that have changed
#
# ONLY="NAME..." in the environment selects programs of the suites, "rights_test churn trace.t", and
# cases and suites of KUnit, "hashbelt_wheel touch_makes_no_version". A name stands for the program
# with any arguments, in 64 and 32 bits; "stress:2:8000" and "rights_test-32" stand for one of
# these. For each program that failed, the end of the output has the command that runs it again.
#
# SEED is the first of the numbers that random tests start from: 1, or "random" for a new one, as
# with --all.
#
# What each suite said stays in .cache/build/test. Ends with "N passed, N failed,
# N skipped"; exit status 0 only if none failed.
#
# A suite that has another kernel has a shell of its own.
# shellcheck disable=SC2030,SC2031
set -u

tests=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$tests/.." && pwd)
# Two suites at a time, in this order: the quickest to fail come first, then the longest, then the
# rest. The suite that measures latencies runs alone, at the end.
together='native build kunit debug kcsan fuzz kernels device life fault stress harness hbctl
	store cost history models examples'
behind=memory
long='device-full checked-full life-full machines strict kmsan rt arm64 arm64-pages
	fuzz-faults soak mutation'
by_name=sparse
quick=''
last=''
payload=$top/.cache/build/payload
traced=tests/device/trace.t	# what needs trace points
examples=$(cd "$top" && echo tests/examples/*.t)	# what the programs of examples/ promise
# What tests of the interface are run in 32 bits: those that depend on the size of a word, and
# those two that between them have every call, and every way to say it wrong.
narrow=$(sed -n 's|^narrow := ||p' "$tests/Makefile")
image=''	# what guests boot, if that is not the stock kernel
logs=$top/.cache/build/test

# check_names SUITE... - whether there are such suites.
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

# begin NAME - a program that ONLY can select.
begin() {
	echo "# begin $1"
}

# begin_check NAME - a check of what programs have in common: the suite has to run again.
begin_check() {
	echo "# begin-check $1"
}

end() {
	echo "# end $1 $2"
}

# one NAME COMMAND... - a command that prints TAP, if it is chosen.
one() {
	name=$1
	shift
	chosen "$name" || return 0
	begin "$name"
	"$@"
	end "$name" $?
}

# check NAME COMMAND... - a command that prints TAP and that others depend on.
check() {
	name=$1
	shift
	begin_check "$name"
	"$@"
	end "$name" $?
}

# bail_out NAME LOG REASON - what others need could not be made.
bail_out() {
	begin_check "$1"
	sed 's/^/# /' "$2"
	echo "Bail out! $3"
	end "$1" 1
}

# chosen PROGRAM [ARGUMENT]... - whether ONLY is empty, has the program's name, or has this one
# with its arguments. tally.awk prints the latter.
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

# guest NAME OPTIONS [SETTING=VALUE]... PROGRAM... - run programs of the payload in a
# guest, and say whether the guest came through that in good order.
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

suite_native() {
	one duration "$top/.cache/build/native/duration_test"
	one encoding "$top/.cache/build/native/encoding_test"
	one top "$top/.cache/build/native/top_test"
	one linear "$top/.cache/build/native/linear_test"
	PATH=$payload:$PATH one usage "$tests/hbctl/usage.t"
	PATH=$payload:$PATH one lock_usage "$tests/hbctl/lock_usage.t"
}

# programs SUFFIX [NAME]... - the tests of the interface, or those that are named.
programs() {
	suffix=$1
	shift
	# shellcheck disable=SC2046 # names without spaces
	[ $# -gt 0 ] || set -- $(cd "$tests/device" && basename -s .c -- *.c)
	printf "device/%s$suffix\n" "$@"
}

# on_device NAME OPTIONS PROGRAM... - tests of the interface, and what a person sees of the
# module.
on_device() {
	# shellcheck disable=SC2086 # a name, or none
	guest "$@" $traced tests/device/module.t
}

# What --quick takes of them, at small sizes, unless ONLY says what is wanted.
brief='entry_test event_test belt_test lock_test request_test set_test scan_test full_test race_test'

suite_device() {
	# shellcheck disable=SC2046,SC2086 # lists of names, split on purpose
	if [ "$quick" ] && [ ! "${ONLY-}" ]; then
		guest device "" SCALE=5 $(programs "" $brief)
	else
		on_device device "" $(programs "") $(programs -32 $narrow)
	fi
}

# squeeze PROGRAM... - in as little memory as a guest can live with. What a suite before this one
# has added to the payload would take too much of it.
squeeze() (
	all=$payload
	payload=$all-squeeze
	{
		rm -rf "$payload" && mkdir -p "$payload/memory" && cd "$all" &&
			cp -p hashbelt.ko guest.sh "$payload" && cp -p "$@" "$payload/memory"
	} >"$logs/squeeze.log" 2>&1 || {
		bail_out squeeze "$logs/squeeze.log" "no payload for the guest with little memory"
		return
	}
	guest squeeze "--memory 320" "$@"
)

# Much memory, as little as a guest can live with, and time that is not the machine's.
suite_memory() {
	guest memory "--memory 2048" memory/cgroup_test \
		memory/pressure_test memory/charge_test
	guest shrink "--cpus 4" memory/shrink_test
	squeeze memory/squeeze_test memory/wipe_test
	guest lag "--count-instructions" memory/lag_test memory/purgatory_test \
		memory/drain_test
}

# lockup NAME [OPTION]... - the watch for soft lockups, where two seconds are 8,000,000
# instructions.
lockup() {
	locking=$1
	shift
	guest "$locking" "--count-instructions --shift 8 --append nosoftlockup $*" \
		"life/lockup_test 100000"
}

# What happens to a machine: to be short of memory, or of time; to sleep; to have much of
# everything.
suite_life() {
	guest life-module "--append slub_debug=F" life/module_test
	guest life "" life/starve_test life/suspend_test
	guest life-oom "--memory 320" life/oom_test
	lockup life-lockup
	guest life-entries "--memory 4096" "life/many_test 1000000"
	guest life-belts "--memory 2560 --count-instructions" life/jump_test \
		"life/belts_test 100000"
}

suite_life_full() {
	guest life-full "--memory 4096" "life/many_test 10000000"
}

suite_hbctl() {
	guest hbctl "" client_test tests/hbctl/hbctl.t \
		tests/hbctl/settings.t tests/hbctl/events.t tests/hbctl/top.t tests/hbctl/lock.t
	guest hbctl-waits "" tests/hbctl/incr.t tests/hbctl/wait.t \
		tests/hbctl/fill.t
}

suite_store() {
	make -s -C "$tests" store >"$logs/store.log" 2>&1 || {
		bail_out store "$logs/store.log" "hbctl for a store was not built"
		return
	}
	for test in lock hold reach example; do
		PATH=$top/.cache/build/tools:$PATH one "store/$test" "$tests/store/$test.t"
	done
}

suite_examples() {
	# shellcheck disable=SC2086 # names, split on purpose
	guest examples "" $examples
	one example "$tests/example.t"
}

# crowd NAME PROCESSORS "OPTION..." "ARGUMENT..." [PROGRAM]... - what several do at once, on so
# many processors. With more than two a belt has more shards than the smallest index has chains;
# that it has them, and that the rest of the machine is as it shall be, machine_test looks at, with
# the ARGUMENTs.
crowd() {
	crowded=$1 processors=$2 crowd_options=$3 expected=$4
	shift 4
	guest "$crowded" "--cpus $processors $crowd_options" \
		"life/machine_test $processors $expected" "life/hotplug_test $SEED" \
		"stress $SEED" "churn $SEED" "lockstress $SEED" "threads $SEED 2" \
		device/race_test device/bound_test "$@"
}

suite_stress() {
	crowd stress 4 "" "" "stress $((SEED + 1))" "stress $((SEED + 2))" \
		"churn $((SEED + 1))" "lockstress $((SEED + 1))"
}

suite_machines() {
	crowd processors 8 "" ""
	for preemption in none full; do
		crowd "preempt-$preemption" 4 "--append preempt=$preemption" "1 $preemption"
	done
	lockup preempt-lockup --append preempt=none
	crowd numa 4 "--numa --memory 2048" 2 memory/cgroup_test memory/pressure_test
	guest cgroup1 "--memory 2048" "memory/cgroup_test 1"
}

# It has four processors at most.
suite_strict() (
	use_kernel strict strict || exit
	poisoned="--memory 2048 --append page_poison=1"
	crowd strict 4 "$poisoned" ""
	# shellcheck disable=SC2046 # names without spaces
	guest strict-device "$poisoned" SCALE=20 $(programs "") client_test
)

suite_kmsan() (
	use_kernel kmsan kmsan || exit
	# A reader of the trace makes the kernel look at pages of it that nothing was written to.
	traced=
	on_checked kmsan 8000 ""
)

suite_history() {
	guest history "" "history $SEED 1" "history $((SEED + 1)) 2" "threads $SEED 10"
}

# use_modules SUITE DIRECTORY - the guests that follow have the modules of DIRECTORY, in a
# payload of the suite's own: another may be looking at another one.
use_modules() {
	rm -rf "$payload-$1.new" && cp -al "$payload" "$payload-$1.new" &&
		cp --remove-destination "$2/hashbelt.ko" "$2/user/hashbelt_user.ko" "$payload-$1.new" &&
		rm -rf "$payload-$1" && mv "$payload-$1.new" "$payload-$1" && payload=$payload-$1
}

# use_kernel SUITE NAME - the guests that follow run on a kernel of our own.
use_kernel() {
	module=$top/.cache/build/module-$2
	log=$logs/$1.build
	image=$("$tests/kernel/kernel.sh" "$2" image 2>"$log") &&
		flock "$logs/$2.lock" "$tests/module.sh" --user "$2" "$module" >>"$log" 2>&1 &&
		use_modules "$1" "$module" >>"$log" 2>&1 && return
	bail_out "kernel-$2" "$log" "no kernel $2, or no module for it"
	return 1
}

# on_checked NAME OPERATIONS OPTIONS [SETTING]... - the examples, the stress and the tests of the
# interface on a kernel that checks. Checks at each access take time: so there is less to be done.
# SCALE is what remains of the tests' sizes, in percent.
on_checked() {
	checked=$1 operations=$2 options=$3
	shift 3
	# shellcheck disable=SC2046,SC2086 # names, split on purpose
	on_device "$checked" "--memory 2048 $options" SCALE=5 "$@" "life/machine_test 2" $examples \
		"stress $SEED $operations" "churn $SEED $operations" \
		"lockstress $SEED $((operations / 4))" client_test \
		$(programs "") $(programs -32 argument_test service_test)
}

# kmemleak makes an allocation several times slower, so leaks are looked for in a guest of their
# own, at the smallest sizes: a path that leaks does so the first time. These programs have every
# call of the device; kunit looks for leaks of the core, and fault for those of error paths.
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

# Programs in which several do something at once.
racing='ack_test belt_test bound_test event_test limit_test lockwait_test memory_test queue_test
	race_test request_wait_test set_test storm_test wait_test'

suite_kcsan() (
	use_kernel kcsan kcsan || exit
	# shellcheck disable=SC2046,SC2086 # names, split on purpose
	guest kcsan "--memory 2048" SCALE=5 "life/machine_test 2" "stress $SEED 8000" "churn $SEED 8000" \
		"lockstress $SEED 2000" $(programs "" $racing)
)

suite_checked_full() {
	(use_kernel debug-full debug && on_checked debug-full 80000 "" LEAKS=yes)
	(use_kernel kcsan-full kcsan && on_checked kcsan-full 200000 "")
}

suite_fault() (
	image=$("$tests/kernel/kernel.sh" debug image 2>"$logs/debug.build") &&
		build=$("$tests/kernel/kernel.sh" debug build) &&
		payload=$("$tests/fault/payload.sh" "$build" 2>>"$logs/debug.build") ||
		image=missing
	# Faults beneath a call of the module make the kernel leak the names of slab caches.
	guest fault "--append kmemleak=off" fault_test
	guest fault-leaks "" LEAKS=yes "fault_test --whole"
)

# fuzz NAME [OPTION]... - random calls. Leaks are looked for elsewhere: here that would cost most
# of the time.
fuzz() {
	fuzzed=$1
	shift
	guest "$fuzzed" "--memory 2048 --append kmemleak=off" "fuzz --cover $*"
}

suite_fuzz() (
	one syzlang "$tests/fuzz/syzlang.t"
	one parsers "$tests/fuzz/parsers.sh" "-seed=$SEED" -runs=150000
	use_kernel fuzz debug || exit
	fuzz fuzz --seed "$SEED" --calls 50000
)

suite_fuzz_faults() (
	use_kernel fuzz-faults debug || exit
	fuzz fuzz-faults --faults --seed "$SEED" --calls 100000
)

suite_soak() (
	guest soak "" "history $SEED ${SOAK:-3600}s"
	one parsers "$tests/fuzz/parsers.sh" "-max_total_time=${SOAK:-3600}"
	use_kernel soak debug || exit
	fuzz soak-fuzz --seed "$SEED" --seconds "${SOAK:-3600}"
)

# Where nine of ten mutants are found in all, four or more of ten survive once in eighty times.
suite_mutation() {
	one mutation "$tests/mutation/run.sh" --sample 10 --seed "$SEED" --goal 70
}

suite_cost() {
	one cost "$tests/bench/cost.t"
}

# What it says beside the tests may be why it failed: the complaints last, for the last
# lines are said again.
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

# Only what has changed is compiled, and looked at. What gave a warning is looked at again.
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
	one harness "$tests/vm/selftest.sh"
}

suite_build() {
	one build "$tests/build/build.t"
}

# What differs between kernels, as far as programs can see: the shrinker and accounting, timers,
# waiting, files and their polling, copies of user memory, trace points.
differing='entry_test memory_test storm_test belt_test event_test lockwait_test argument_test'

# matrix SUITE PROGRAM... - some of the interface on the kernel of another suite of Debian.
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

# on_other NAME OPTIONS PROCESSOR KIB PREEMPTION - the tests of the interface at a fifth of their
# sizes, and what processors do at once, on a machine of a kind that no other suite has.
on_other() {
	# shellcheck disable=SC2046 # names without spaces
	guest "$1" "$2" SCALE=20 "tests/device/machine.t $3 $4 $5" $(programs "") client_test \
		"stress $SEED 8000" "churn $SEED 8000" "lockstress $SEED 2000" \
		"history $SEED 1" "threads $SEED 2" tests/device/module.t
}

# use_build SUITE KERNEL COMMAND... - the guests that follow have the modules that the command
# builds without a warning. The command is given a directory and arguments for make.
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

# use_arm64 SUITE - the guests that follow have programs for arm64.
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
	for model in entry request queue litmus; do
		one "models/$model" "$tests/models/run.sh" "$model"
	done
}

# note_spent NAME - what processor time the children of this shell have had so far, user and
# system, for say_spent. Not to be called in a subshell, which begins with none.
note_spent() {
	times >"$logs/$1.times"
}

# say_spent NAME SINCE [PART]... - how long that took from SINCE on, and its processor time;
# with that of parts that another shell has noted.
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

# carry_out SUITE - in a shell of its own, whose children's time is the suite's.
carry_out() (
	"suite_$(echo "$1" | tr - _)"
	status=$?
	note_spent "$1"
	exit $status
)

# suite NAME - what it said is passed on as a whole, so that two do not mix; and in the end, that
# it has come to its end.
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

# take - the name of the suite that is next, of those that come by descriptor 8.
take() {
	# shellcheck disable=SC2016 # for that shell to expand
	flock "$logs/lock" sh -c 'read -r next <&8 && echo "$next"'
}

# work - suites that nobody else has taken, until there are no more.
work() {
	while next=$(take); do
		suite "$next" 8<&-
	done
}

# kernels_of SUITE... - the kernels of our own that these need.
kernels_of() {
	for suite; do
		case $suite in
		kunit) echo uml ;;
		debug | fault | fuzz | fuzz-faults | soak) echo debug ;;
		mutation) printf '%s\n' uml debug ;;
		kcsan | strict | kmsan) echo "$suite" ;;
		checked-full) printf '%s\n' debug kcsan ;;
		esac
	done | sort -u
}

# make_kernels SUITE... - those that the suites need, one after the other: each takes all
# processors. What cannot be made is said by the suite that needs it.
make_kernels() {
	began_kernels=$(date +%s)
	for kernel in $(kernels_of "$@"); do
		"$tests/kernel/kernel.sh" "$kernel" image
	done >"$logs/kernels.log" 2>&1
	note_spent own-kernels
	say_spent own-kernels "$began_kernels"
}

# make_payload - what guests and this machine run.
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

# choose_seed - sets SEED, which has to be a number that a shell can add to.
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

# settings - what of the environment decides what tests do, to be given again.
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
