#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [OPTION]... [FILE]... - plant mutants of the module in a copy of the tree, one at a time,
# and check whether a test fails. FILE is a source of the module; without one, all of them.
#
#	--sample N	stop after N mutants (after all)
#	--seed S	the random order of mutants: a number, or "random" (1)
#	--goal PERCENT	the least percentage of mutants that have to be found (90)
#	--only ID	run only this mutant; may be given several times. The record may be that of another
#			commit then, and stages that did not find the mutant run again
#	--cases		run the cases of the file "cases": mutants of any file, chosen by hand, each with the
#			suite that has to find it. FILE is the name of a case then. The goal is 100
#	--list		print the mutants or the cases, and run nothing
#	--check		print what does not fit the sources: blocks of "equivalent" without a mutant, cases
#			that change nothing, files without a line in "programs"
#	--keep-going	run all stages, and print which of them find a mutant
#	--stages "NAME..."	run only these stages, after "compile"
#	--record FILE	write to FILE which stages find a mutant. Results that FILE has are used, and not
#			made again. Two runs with the same FILE share the work
#	--summary FILE	print a summary of such a record, and run nothing. Fails if the stages of
#			"make test" find less than 95 percent of what all stages find
#
# mutants.awk makes the mutants. Each goes through these stages until one finds it:
#
#	compile	the module for the stock kernel, without a warning. A mutant that does not compile is
#		stillborn, and does not count
#	sparse	for edits of RCU, barriers and locks
#	models	for edits of RCU and barriers: a function that a model copies has changed
#	near	the KUnit suites for the file (see "programs"), on a kernel with KASAN and lockdep
#	guest	the programs for the file (see "programs"), on the stock kernel
#	kunit	all of KUnit. It has the suites of "near", so it finds what "near" finds
#	device	all programs that "make test" runs on the stock kernel
#	debug	the guest's programs again and some stress, with KASAN, lockdep and kmemleak
#
# "make test" has all of these but "debug". The stage of a case is its suite.
#
# A guest that prints nothing for 300 seconds hangs, and KUnit after 120: the mutant is found. If
# a guest does not come to its tests, the mutant has no part in that, since no module is loaded
# before: it is not judged, and that is a failure.
#
# A mutant with no observable effect is listed in "equivalent", with the reason, and does not count.
# Prints TAP: fails if less than PERCENT of the mutants that count are found, or if "equivalent"
# lists a mutant that does not exist. The logs of the stages are in .cache/mutation/log.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/environment.sh
. "$tests/environment.sh"
here=$tests/mutation
home=$top/.cache/mutation
goal=''
share=95
silence=300
counted=memory/evict_test	# needs a guest whose clock counts instructions
sample=0 seed=1 only='' list='' keep_going='' planted='' record='' summarize='' cases='' check=''
compiled=''
stages='compile sparse models near guest kunit device debug'

usage() {
	sed -n '/^# run.sh/,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'
	exit "$1"
}

fail() {
	echo "Bail out! $1"
	exit 1
}

# The copy

# choose - choose the first copy that no other run uses.
choose() {
	number=1
	while copy=$home/$number && mkdir -p "$copy" "$home/log" "$home/taken" &&
		exec 9>"$copy/lock" && ! flock -n 9; do
		number=$((number + 1))
	done
	tree=$copy/tree
}

# prepare - update the copy: files that have not changed need not be built again.
prepare() {
	mkdir -p "$tree/.cache"
	(cd "$top" && git ls-files --cached --others --exclude-standard) | sort -u >"$copy/files"
	while read -r file; do
		# git lists deleted files as well.
		if [ -f "$top/$file" ] && ! cmp -s "$top/$file" "$tree/$file"; then
			mkdir -p "$(dirname "$tree/$file")"
			cp "$top/$file" "$tree/$file"
		fi
	done <"$copy/files"
	# check.sh lists files with git.
	[ ! "$cases" ] || git init -q "$tree"
	(cd "$tree" && find . \( -path ./.cache -o -path ./.git \) -prune -o -type f -print | sed 's|^\./||' | sort) |
		comm -23 - "$copy/files" | sed "s|^|$tree/|" | xargs -r rm -f
}

# restore - restore the file that the last mutant changed.
restore() {
	[ -z "$planted" ] || cp "$top/$planted" "$tree/$planted"
	planted=''
}

# plant ID FILE - plant a mutant in the copy of a file.
plant() {
	planted=$2
	case $1 in
	case/*) sed "$before" "$top/$2" >"$copy/mutant" ;;
	*) awk -v plant="$1" -f "$here/mutants.awk" "$top/$2" >"$copy/mutant" ;;
	esac || fail "cannot plant $1"
	! cmp -s "$copy/mutant" "$top/$2" || fail "$1 does not change $2"
	cp "$copy/mutant" "$tree/$2"
}

# Stages. A stage is true if it finds nothing; its log says what it found.

# without_counted - copy the lines that are not the names of programs that need such a guest.
without_counted() {
	echo "$counted" | tr ' ' '\n' >"$copy/counted"
	grep -vxFf "$copy/counted"
}

# check_first PROGRAM... - print those of a file's programs that the debug kernel runs. Those of memory/
# measure memory, of which KASAN takes some for each object.
check_first() {
	printf '%s\n' "$@" | grep -Ev "stress|\.t$|^memory/" | without_counted | head -n 3
}

# table FILE - sets suites and programs for a file, and checked, the programs for the debug kernel.
table() {
	line=$(sed -n "s|^$1: *||p" "$here/programs")
	[ "$line" ] || fail "tests/mutation/programs has no line for $1"
	suites=$(echo "${line%%/*}" | sed 's/[a-z]*[^ ]/hashbelt_&/g')
	programs=${line#*/ }
	# shellcheck disable=SC2086 # names, split on purpose
	checked=$(check_first $programs)
}

stage_compile() {
	compiled=$id
	"$tree/tests/module.sh" "$headers" "$tree/.cache/build/module-mutant" \
		CC="ccache $compiler" KCFLAGS=-g0 >"$log" 2>&1 && [ ! -s "$log" ]
}

stage_sparse() {
	case $operator:$before in
	rcu:* | barrier:* | delete:*lock*) ;;
	*) return 0 ;;
	esac
	"$tree/tests/module.sh" "$headers" "$tree/.cache/build/module-sparse" \
		W=1 C=1 CF=-D__CHECK_ENDIAN__ >"$log" 2>&1 && [ ! -s "$log" ]
}

stage_models() {
	case $operator in
	rcu | barrier) ;;
	*) return 0 ;;
	esac
	grep -v '^#' "$top/tests/models/functions" >"$copy/copied"
	while read -r model where copied; do
		[ "$id" = clean ] || case $where\ $copied\  in "$file "*" $named "*) ;; *) continue ;; esac
		# shellcheck disable=SC2086 # a hash and names, split on purpose
		"$tree/tests/models/review.sh" --check "$model" "$where" $copied >>"$log" 2>&1 || return
	done <"$copy/copied"
}

# kunit [PATTERN]... - run KUnit without kmemleak, which the debug kernel has. A case that hangs
# keeps a processor busy, so the limit is that of the suite kunit, and not that of guests.
kunit() {
	"$tree/tests/kunit/run.sh" --no-kmemleak ${1:+--only "$*"} >"$log" 2>&1
}

stage_near() {
	[ ! "$suites" ] || kunit "$suites"
}

stage_kunit() {
	[ ! "$suites" ] || kunit
}

# payload DIRECTORY PROGRAM... - make a payload of these programs only: a guest starts sooner.
payload() {
	built=$tree/.cache/build/payload
	module=$1
	shift
	rm -rf "$copy/payload"
	mkdir -p "$copy/payload/device" "$copy/payload/memory" "$copy/payload/tests/device" "$copy/payload/tests/hbctl"
	cp "$module/hashbelt.ko" "$tree/tests/guest.sh" "$built/hashbelt_user.ko" "$copy/payload"
	cp "$tree/tests/where.sh" "$copy/payload/tests"
	cp "$tree/tests/hbctl/tap.sh" "$copy/payload/tests/hbctl"
	for program; do
		program=${program%%:*}
		cp -l "$built/$program" "$copy/payload/$program"
		# It runs hbctl, with libraries.
		case $program in
		*/trace.t) cp -rl "$built/hbctl" "$built/hbctl-manage.so" "$built/host" "$copy/payload" ;;
		esac
	done
}

# guest OPTIONS MODULE_DIRECTORY SETTINGS PROGRAM... - true if all programs pass, and the kernel
# does not warn.
guest() {
	options=$1 directory=$2 settings=$3
	shift 3
	payload "$directory" "$@"
	for program; do
		shift
		set -- "$@" "$(echo "$program" | tr : ' ')"
	done
	# shellcheck disable=SC2086 # options and settings, split on purpose
	"$tree/tests/vm/run.sh" --silence "$silence" $options "$copy/payload" \
		sh ./guest.sh $settings "$@" >"$log" 2>&1 &&
		! grep -Eq '^not ok|^Bail out|^# end [^ ]* [1-9]' "$log"
}

# places PROGRAM... - print the programs' paths in the payload.
places() {
	for program; do
		case $program in
		*_test) [ ! -e "$tree/tests/device/$program.c" ] || program=device/$program ;;
		*.t) program=tests/device/$program ;;
		esac
		echo "$program"
	done
}

# stock PROGRAM... - run programs on the stock kernel, and those that measure time in a guest of their own.
stock() {
	module=$tree/.cache/build/module-mutant
	# shellcheck disable=SC2046 # names, split on purpose
	guest "--memory 1024" "$module" "SCALE=5 FIRST=yes" $(places "$@" | without_counted) || return
	measured=$(places "$@" | grep -xFf "$copy/counted") || return 0
	# shellcheck disable=SC2086 # names, split on purpose
	guest --count-instructions "$module" "SCALE=5 FIRST=yes" $measured
}

stage_guest() {
	# shellcheck disable=SC2086 # names, split on purpose
	stock $programs
}

# everything - print the programs that "make test" runs on the stock kernel.
everything() {
	(cd "$tree/.cache/build/payload/device" && printf '%s\n' ./*_test | sed 's|./||')
	echo trace.t "$counted" memory/behind_test memory/cgroup_test memory/wipe_test memory/allocator_test \
		churn:1:8000 lockstress:1:2000 module.t
}

stage_device() {
	# shellcheck disable=SC2046 # names, split on purpose
	stock $(everything)
}

stage_debug() {
	"$tree/tests/module.sh" debug "$tree/.cache/build/module-debug" >"$log" 2>&1 || return
	# shellcheck disable=SC2046,SC2086 # names, split on purpose
	guest "--memory 1536 --image $debug" "$tree/.cache/build/module-debug" "SCALE=1 LEAKS=yes FIRST=yes" \
		churn:1:1000 $(places $checked)
}

# stage_suite SUITE - the suite of a case, or some of its programs. It has to fail with the pattern of the case:
# a build, a kernel or a guest that failed shows nothing.
stage_suite() {
	case $1 in
	check) "$tree/tests/check.sh" ;;
	*) ONLY=$program ACCESS_LOG='' "$tree/tests/run.sh" "$1" ;;
	esac >"$log" 2>&1 3<&- && return
	[ "$id" != clean ] || return
	grep -Eq 'Bail out! (no kernel|.* was not built)|no such kernel|good order \(status 12[45]\)' "$log" ||
		! grep -Eq "$after" "$log"
}

# run_stage STAGE - true if the stage finds nothing.
run_stage() {
	if [ "$cases" ]; then
		stage_suite "$1"
	else
		"stage_$1"
	fi
}

# came - true unless the log says that a guest did not come to its tests.
came() {
	! grep -q '^\(# \)\{0,1\}run.sh: the guest did not come to its ' "$log"
}

# finder - print the first failed test in the log, or another error.
finder() {
	{
		sed -n 's/^not ok [0-9]* - //p' "$log"
		grep -aE '^! |review model|error:|warning:' "$log"
		grep -aE '^run.sh: ' "$log" | tail -n 1
		sed -n 's/^# end \([^ ]* [1-9].*\)/\1/p' "$log"
		tail -n 1 "$log"
	} | tr -d '\r' | head -n 1 | cut -c 1-110
}

# try STAGE - true if the stage finds the mutant: run it, unless its result is known or implied.
# Sets unjudged if a guest did not come to its tests.
try() {
	log=$home/log/$(echo "$id" | tr / -).$1
	case $1-" $results " in
	*-*" $1 "*) return 0 ;;
	*-*" -$1 "*) return 1 ;;
	kunit-*" near "*) : >"$log" ;;
	*)
		: >"$log"
		[ "$planted" ] || [ "$id" = clean ] || {
			plant "$id" "$file"
		}
		# The module may be that of another mutant if FILE has the result of "compile".
		case $cases$1 in
		guest | device) [ "$compiled" = "$id" ] || stage_compile ;;
		esac
		! run_stage "$1" || {
			results="$results -$1"
			return 1
		}
		came || {
			unjudged="$1: a guest did not come to its tests, see $log"
			return
		}
		;;
	esac
	results="$results $1"
}

# pass - run the stages; sets found to the first one that found the mutant, and results to all of
# them. A minus is before those that did not find it. A stage that could not judge is in unjudged
# alone.
pass() {
	found='' unjudged=''
	results=$(recorded)
	for stage in $stages; do
		try "$stage" || continue
		[ ! "$unjudged" ] || break
		found=${found:-$stage: $(finder)}
		[ "$keep_going" ] || break
		[ "$stage" != compile ] || break
	done
}

# The record

# begin_record - write the first lines of a record. The results of other sources may differ.
begin_record() {
	head="# seed $seed, sample $sample, commit $(git -C "$top" rev-parse --short=12 HEAD)"
	[ ! "$only" ] || [ ! -e "$record" ] || return 0
	[ -e "$record" ] || printf '%s\n' "# SPDX-License-Identifier: GPL-2.0-only" "#" \
		"# MUTANT STAGE... - the stages of run.sh that find a mutant; with a minus those that do not." \
		"$head" >"$record" || exit 1
	grep -qxF -e "$head" "$record" ||
		fail "$record is not a record of this seed, sample and commit: name another file"
}

# recorded - print the results that the record has for a mutant. With --only, stages that did not find it
# run again: there may be new tests.
recorded() {
	[ ! "$record" ] || awk -v id="$id" -v again="${only:+${stages#compile}}" '
		BEGIN {
			for (i = split(again, names, " "); i > 0; i--)
				left_out["-" names[i]] = 1
		}
		$1 == id {
			for (i = 2; i <= NF; i++)
				if (!($i in left_out))
					printf " %s", $i
		}' "$record"
}

# write_record - put the results of a mutant into the record.
write_record() {
	[ "$record" ] || return 0
	{
		flock 7
		awk -v id="$id" -v line="$id$results" '
			$1 == id { $0 = line; known = 1 }
			{ print }
			END { if (!known) print line }' "$record" >"$copy/record"
		cat "$copy/record" >"$record"
	} 7>"$home/record.lock"
}

# summary - print a summary of the record.
summary() {
	awk -v share="$share" -f "$here/summary.awk" FS='	' "$tests/suites" FS=' ' "$record"
	result $? "the stages of make test find at least $share percent of what all stages find" /dev/null
}

# words - print each word of the input once, in one line.
words() {
	tr ' ' '\n' | sed '/^$/d' | sort -u | tr '\n' ' '
}

# clean_stages - run the stages without a mutant, with the tests of all files that are to have one.
clean_stages() {
	cut -f 3 "$copy/selected" | sort -u >"$copy/mutated"
	while read -r file; do
		table "$file"
		echo "$suites" >&3
		echo "$programs" >&4
		echo "$checked" >&5
	done <"$copy/mutated" 3>"$copy/suites" 4>"$copy/programs" 5>"$copy/checked"
	operator=rcu before='' file='' named=''
	suites=$(words <"$copy/suites")
	programs=$(words <"$copy/programs")
	checked=$(words <"$copy/checked")
	pass
	[ ! "$found$unjudged" ] || fail "without a mutant there is a failure: $unjudged$found, see $log"
}

# clean_cases - run the suites of cases without a mutant.
clean_cases() {
	cut -f 4,5 "$copy/selected" | sort -u >"$copy/mutated"
	while IFS='	' read -r suite program <&3; do
		log=$home/log/clean.$suite
		program=${program#-}
		stage_suite "$suite" || fail "without a mutant there is a failure: $(finder), see $log"
	done 3<"$copy/mutated"
}

# clean - check once for each tree that no stage finds anything without a mutant: otherwise every
# mutant would count as found.
clean() {
	key=$( (cd "$top" && echo "$stages" && cut -f 3-5 "$copy/selected" && xargs sha256sum <"$copy/files" 2>/dev/null) |
		sha256sum | cut -c 1-16)
	[ ! -e "$home/clean-$key" ] || return 0
	id=clean
	if [ "$cases" ]; then
		clean_cases
	else
		clean_stages
	fi
	: >"$home/clean-$key"
}

# build - build what the stages need for all mutants.
build() {
	"$tests/need.sh" sparse || exit 1
	headers=$("$tests/vm/kernel.sh" headers) || exit 1
	compiler=$(sed -n 's/^CONFIG_CC_VERSION_TEXT="\([^ ]*\).*/\1/p' "$headers/.config")
	CCACHE_DIR=$("$tests/cache.sh" kernel)/ccache
	export CCACHE_DIR
	case " $stages " in
	*" debug "*) debug=$("$tests/kernel/kernel.sh" debug image) || exit 1 ;;
	esac
	make -s -C "$tree/tests" payload || fail "cannot build without a mutant"
}

# sources [FILE]... - print the files to mutate. Not in the list are the ABI, code for other
# kernels, and trace points.
sources() {
	# shellcheck disable=SC2046 # names without blanks
	[ $# -gt 0 ] || set -- $(sed -n 's/^\([a-z_/]*\.[ch]\):.*/\1/p' "$here/programs")
	for name; do
		echo "$top/${name#"$top"/}"
	done
}

# mutants [FILE]... - print the mutants of files.
mutants() {
	# shellcheck disable=SC2046 # names without blanks
	awk -f "$here/mutants.awk" $(sources "$@")
}

# list_cases [NAME]... - print the cases as lines of ID, FILE, SUITE, PROGRAM or "-", SCRIPT, PATTERN, MEANING.
list_cases() {
	awk -v only="$*" '
		BEGIN {
			OFS = "\t"
			for (i = split(only, names, " "); i > 0; i--)
				wanted[names[i]] = 1
		}
		/^#/ || /^$/ { next }
		/^! / { script = substr($0, 3); next }
		/^= / { pattern = substr($0, 3); next }
		/^\t/ {
			if (only == "" || name in wanted)
				print "case/" name, file, suite, program, script, pattern, substr($0, 2)
			next
		}
		{
			name = $1
			file = $2
			suite = $3
			program = NF > 3 ? $4 : "-"
		}' "$here/cases"
}

# check_programs - print the suites and the programs that do not exist in lines of the file "programs".
check_programs() {
	cat "$tests/kunit/"*_test.c >"$work/kunit"
	while IFS=: read -r source line; do
		printf '%s' "${line%%/*}" | tr -s ' ' '\n' | grep . | while read -r suite; do
			grep -q "^static struct kunit_case $(echo "$suite" | sed 's/\*$/[a-z_]*/')_cases" "$work/kunit" ||
				echo "tests/mutation/programs: no suite $suite of KUnit for $source"
		done
		line=${line#*/}
		[ "$line" ] || echo "tests/mutation/programs: no program for $source"
		for program in $line; do
			program=${program%%:*}
			find "$tests" -path "*/$program" -o -path "*/$program.c" | grep -q . ||
				echo "tests/mutation/programs: no program $program for $source"
		done
	done
}

# check - print what does not fit the sources. False: there is something.
check() {
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	mutants >"$work/list"
	list_cases >"$work/cases"
	{
		awk -f "$here/select.awk" "$here/equivalent" "$work/list" |
			sed -n 's/^unknown./tests\/mutation\/equivalent: there is no such mutant: /p'
		cut -f 2 "$work/list" | sort -u | while read -r source; do
			grep -q "^$source: " "$here/programs" || echo "tests/mutation/programs: no line for $source"
		done
		grep '^[^#]' "$here/programs" | check_programs
		while IFS='	' read -r id file suite program before after; do
			sed "$before" "$top/$file" | cmp -s - "$top/$file" &&
				echo "tests/mutation/cases: the edit of $id does not change $file"
		done <"$work/cases"
	} >"$work/complaints"
	cat "$work/complaints"
	[ ! -s "$work/complaints" ]
}

# run_mutant - run one mutant, and count the result.
run_mutant() {
	if [ "$state" = equivalent ]; then
		echo "# equivalent $id"
		equivalents=$((equivalents + 1))
		[ ! "$only" ] || {
			results=' equivalent'
			write_record
		}
		return
	fi
	if [ "$cases" ]; then
		stages=$line program=${operator#-}
	else
		table "$file"
	fi
	pass
	restore
	write_record
	if [ "$unjudged" ]; then
		echo "# not judged $id: $unjudged"
		errors=$((errors + 1))
		return
	fi
	case $found in
	compile*)
		echo "# stillborn $id: ${found#compile: }"
		stillborn=$((stillborn + 1))
		return
		;;
	'')
		survived=$((survived + 1))
		verdict=survived
		note=${meaning:-$before => $after}
		;;
	*)
		killed=$((killed + 1))
		verdict=killed
		note="$(echo "$results" | tr ' ' '\n' | grep -v ^- | tr '\n' ' '): ${found#*:}"
		;;
	esac
	echo "# $((killed + survived))${total:+/$total} $verdict $id: $note"
}

# take - false if another run with the same record has the mutant. The lock ends with the run.
take() {
	[ ! "$record" ] || {
		exec 8>"$home/taken/$(echo "$id" | tr / -)"
		flock -n 8
	}
}

# judge_all LIST - run the mutants of a list until the sample is complete. Mutants that another run has
# are part of it.
judge_all() {
	killed=0 survived=0 stillborn=0 equivalents=0 elsewhere=0 errors=0
	total=$sample
	[ "$sample" != 0 ] || total=''
	while IFS='	' read -r state id file line operator before after meaning <&3; do
		[ "$state" != unknown ] || continue
		named=${id#*/}
		named=${named%/*}
		if take; then
			run_mutant 8>&-
		else
			elsewhere=$((elsewhere + 1))
		fi
		[ "$sample" = 0 ] || [ $((killed + survived + errors + elsewhere)) -lt "$sample" ] || break
	done 3<"$1"
}

while [ $# -gt 0 ]; do
	case $1 in
	--help) usage 0 ;;
	--list) list=yes ;;
	--cases) cases=yes ;;
	--check) check=yes ;;
	--keep-going) keep_going=yes ;;
	--sample | --seed | --goal | --only | --stages | --record | --summary)
		[ $# -ge 2 ] || usage 1 >&2
		case $1 in
		--goal) goal=$2 ;;
		--sample) sample=$2 ;;
		--seed) seed=$2 ;;
		--stages) stages="compile $2" ;;
		--record) record=$2 ;;
		--summary) record=$2 summarize=yes ;;
		--only) only="$only $2" ;;
		esac
		shift
		;;
	--*) usage 1 >&2 ;;
	*) break ;;
	esac
	shift
done
[ "$seed" != random ] || seed=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
# Each case has to be found, by a suite that "make test" need not have.
if [ "$cases" ]; then
	goal=${goal:-100} share=0
fi
goal=${goal:-90}
case $sample$seed$goal in
*[!0-9]*) fail "--sample, --seed and --goal are numbers" ;;
esac
if [ "$summarize" ]; then
	summary
	finish
	exit
fi
if [ "$check" ]; then
	check
	exit
fi
if [ "$list" ]; then
	if [ "$cases" ]; then
		list_cases "$@"
	else
		mutants "$@"
	fi
	exit
fi

choose
trap restore EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
prepare
if [ "$cases" ]; then
	list_cases "$@" >"$copy/list"
	sed 's/^/live	/' "$copy/list" >"$copy/selected"
else
	mutants "$@" >"$copy/list"
	awk -v seed="$seed" -v only="$only" -f "$here/select.awk" "$here/equivalent" "$copy/list" \
		>"$copy/selected"
fi
grep -q '^live' "$copy/selected" || fail "no such mutant"
[ "$cases" ] || build 9>&-
exec 7>"$home/clean.lock"
flock 7
clean 7>&- 9>&-
[ ! "$record" ] || begin_record
exec 7>&-
echo "# $(wc -l <"$copy/list") mutants; seed $seed"
judge_all "$copy/selected" 9>&-
tested=$((killed + survived))
echo "# $killed killed, $survived survived, $equivalents equivalent, $stillborn stillborn, $errors not judged"
[ $((killed * 100)) -ge $((tested * goal)) ] && [ $tested -gt 0 ]
result $? "tests find at least $goal percent of $tested mutants: $((killed * 100 / (tested + !tested)))" \
	/dev/null
[ $errors = 0 ]
result $? "each guest has come to its tests" /dev/null
[ ! "$record" ] || summary
grep '^unknown' "$copy/selected" >"$copy/unknown"
[ $# -gt 0 ] || {
	[ ! -s "$copy/unknown" ]
	result $? "each mutant in tests/mutation/equivalent exists" "$copy/unknown"
}
finish
