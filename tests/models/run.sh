#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [NAME]... - check the models of docs/races.md by machine: entry, request, queue,
# litmus; without a name, all. Speaks TAP; fails if any case does.
#
# A model is written by hand after the code. So each function that it copies must be as it was
# when the model was last compared with it: see review.sh.
#
# A model must be found good in all its states, and bad with each of its -DBREAK_...:
# then the last state before is shown by
#
#	spin -t -p -DBREAK_... tests/models/MODEL.pml
#
# with the trail that is left in .cache/build/models. A case takes seconds, and up to
# 1 GB of memory. The outcome of a search is always the same: tests/cache.sh keeps it for all
# clones, and the search is not made again until the model, its flags, spin, the compiler or
# search() has changed. An outcome that was kept is judged like a new one.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$here/../result.sh"
top=$here/../..
out=$top/.cache/build/models
limit=300	# seconds of processor time for a case
store=$("$here/../cache.sh" searches) || exit
errors=1	# after which a search ends; 0: it finds them all
kept=0		# searches that were not made again

# fingerprint SOURCE FLAG... - what the outcome of a search depends on.
fingerprint() {
	{
		sed -n '/^search() {/,/^}/p' "$here/run.sh"
		cat "$here/word.pml" "$1"
		shift
		echo "$errors $*"
		spin -V
		gcc --version
	} | sha256sum | cut -c 1-32
}

# search DIRECTORY SOURCE FLAG... - look at all states; leaves a log in the directory, and a
# trail if there is an error.
search() {
	cp "$here/word.pml" "$2" "$1" && cd "$1" || return
	source=$(basename "$2")
	shift 2
	spin -a "$@" "$source" || return
	gcc -w -O1 -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=1000 -o pan pan.c || return
	prlimit --cpu="$limit" ./pan -m100000 "-c$errors"
	echo "status $?"
	rm -f pan pan.?
}

# outcome NAME MODEL FLAG... - of a search, in $out/NAME. It is kept if the search came to its
# end; it gets its name in the store by a rename.
outcome() {
	work=$out/$1
	model_source=$here/$2.pml
	shift 2
	key=$(fingerprint "$model_source" "$@")
	rm -rf "$work"
	mkdir -p "$work"
	if [ -d "$store/$key" ]; then
		kept=$((kept + 1))
		touch "$store/$key"
		cp "$store/$key"/* "$work"
		return
	fi
	(search "$work" "$model_source" "$@") >"$work/log" 2>&1
	grep -qx 'status 0' "$work/log" || return
	rm -rf "$store/$key.$$"
	cp -r "$work" "$store/$key.$$"
	# Another clone may have been first.
	mv -T "$store/$key.$$" "$store/$key" 2>/dev/null
	rm -rf "$store/$key.$$"
	find "$store" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
}

# ended LOG - whether the search came to its end, and was not held up by a limit.
ended() {
	grep -qx 'status 0' "$1" &&
		! grep -Eq 'Search not completed|out of memory|too small' "$1"
}

# good NAME MODEL DESCRIPTION FLAG... - no error in any state.
good() {
	log=$out/$1/log
	name=$1 model=$2 what=$3
	shift 3
	outcome "$name" "$model" "$@"
	ended "$log" && grep -q 'errors: 0$' "$log"
	result $? "$model: $what" "$log"
}

# found LOG ERROR - the error is among those that were found, in the words of pan.
found() {
	grep -E '^pan:[0-9]+: (assertion violated|invalid end state)' "$1" | grep -Fq -- "$2"
}

# bad FLAG ERROR MODEL DESCRIPTION FLAG... - an assertion does not hold, or something stands
# still for ever: that which ERROR names is found before others.
bad() {
	log=$out/$1/log
	name=$1 error=$2 model=$3 what=$4
	shift 4
	outcome "$name" "$model" "-D$name" "$@"
	grep -q 'errors: 1$' "$log" && found "$log" "$error" &&
		[ -s "$out/$name/$model.pml.trail" ]
	result $? "$model: $what" "$log"
}

# also FLAG ERROR MODEL DESCRIPTION FLAG... - that is among the others.
also() {
	log=$out/$1-all/log
	name=$1 error=$2 model=$3 what=$4
	shift 4
	errors=0
	outcome "$name-all" "$model" "-D$name" "$@"
	errors=1
	ended "$log" && found "$log" "$error"
	result $? "$model: $what" "$log"
}

entry() {
	reviewed entry
	two="-DREADERS=2 -DWRITES=1 -DTICKS=2"
	one="-DREADERS=1 -DWRITES=2 -DTICKS=3"
	# shellcheck disable=SC2086 # lists of flags, split on purpose
	{
		good entry-readers entry "two readers, one writer" $two
		good entry-writes entry "one reader, two writes" $one
		good entry-reinsert-readers entry "the same where entries are reinserted" \
			-DREINSERT $two
		good entry-reinsert-writes entry "and with two writes" -DREINSERT $one
		bad BREAK_SEAL 'told&(1<<old)' entry "found: a reader does not seal" $two
		also BREAK_SEAL 'told&(1<<entry)' entry "and what somebody missed is refreshed" $two
		bad BREAK_STORE 'promised[1]<=clock' entry "found: a refresh stores without comparing" $two
		bad BREAK_DRAIN 'promised[1]<=clock' entry "found: the drain stores without comparing" $two
		bad BREAK_COMPARE '>now)||(result>now)' entry "found: a reader does not compare the deadline" $two
		bad BREAK_LOOK '(absent&' entry "found: a reader does not look again" $two
		bad BREAK_ORDER '(entry!=255)' entry "found: the old entry is claimed before the new one is in" \
			$two
		bad BREAK_KEEP '>=promised[old]' entry "found: a put that keeps the time loses a refresh" $one
		bad BREAK_SHORTEN '&120)>clock)' entry "found: an earlier deadline, in the same bucket" $one
		bad BREAK_LATE 'expired& ~(handled)' entry "found: the handler runs when the lock is given up" $one
		bad BREAK_FIND_LIVE '&120)>now)' entry "found: a writer does not look at the deadline" $one
		bad BREAK_REFUSE 'told&(1<<old)' entry "found: a put replaces what somebody was told is gone" $two
	}
}

request() {
	reviewed request
	good request request "puts, timeout, clear, cancel and close against registering"
	bad BREAK_TEST '!(freed)' request "found: claimed without a test"
	bad BREAK_LINKING '!(freed)' request "found: finished while it is being linked"
	bad BREAK_DONE '(refs==0)&&freed' request "found: who links it does not look whether it is done"
	bad BREAK_RECHECK '!(on_wheel))&& !(tied))' request "found: on the wheel though it is claimed"
	bad BREAK_UNWATCH '(watch[0]==0)' request "found: watches stay in their lists"
	bad BREAK_REF '!(freed)' request "found: a cancel holds no reference"
	bad BREAK_WATCHED '!(freed)' request "found: nobody keeps it until its watches are out"
	bad BREAK_GONE '!(queued)' request "found: told to a holder that has gone"
	bad BREAK_UNSET '(word>=128)' request "found: tied before its deadline is set"
	bad BREAK_TIE '!(closed)' request "found: tied to a holder that has gone"
}

queue() {
	reviewed queue
	good queue queue "unlock, lease, renewal, timeouts and sleep of three tasks"
	bad BREAK_STATE 'invalid end state' queue "found: a task says that it sleeps after it has looked"
	bad BREAK_WAKE 'asleep[me]' queue "found: who is given the lock is not woken"
	bad BREAK_ARM 'timer[line[0]]<=lease' queue "found: a hand-over sets no timer for the next"
	bad BREAK_PASS 'timer[line[0]]<=lease' queue "found: who gives up sets no timer for the next"
	bad BREAK_RENEW 'timer[line[0]]<=lease' queue "found: another lease sets no timer"
	bad BREAK_HAND '!(length)' queue "found: the first is woken to try again"
	bad BREAK_RESULT '(owner!=me)' queue "found: a timeout does not look whether it has the lock"
}

# never NAME DESCRIPTION - what the test asks for cannot be.
never() {
	log=$out/$1.log
	"$here/herd.sh" "$here/$1.litmus" >"$log" 2>&1 &&
		grep -q "^Observation $1 Never" "$log" && ! grep -q '^Flag' "$log"
	result $? "litmus $1: $2" "$log"
}

# reachable NAME SCRIPT DESCRIPTION - with a line edited by sed, it can be.
reachable() {
	log=$out/$1-broken.log
	sed "$2" "$here/$1.litmus" >"$out/$1-broken.litmus"
	! cmp -s "$here/$1.litmus" "$out/$1-broken.litmus" &&
		"$here/herd.sh" "$out/$1-broken.litmus" >"$log" 2>&1 &&
		grep -q "^Observation $1 Sometimes" "$log"
	result $? "litmus $1: found: $3" "$log"
}

# reviewed MODEL - each function that the model copies is as it was when that was written.
reviewed() {
	log=$out/$1.review
	"$here/review.sh" --names "$1" >"$log" 2>&1
	result $? "$1: all functions that it names stand in tests/models/functions" "$log"
	awk -v model="$1" '$1 == model' "$here/functions" >"$out/$1.functions"
	[ -s "$out/$1.functions" ] || echo "$1 - - -" >"$out/$1.functions"
	while read -r model file name hash; do
		"$here/review.sh" --check "$model" "$file" "$name" "$hash" >"$log" 2>&1
		result $? "$1: $name in $file is what the model was compared with" "$log"
	done <"$out/$1.functions"
}

litmus() {
	reviewed content
	reviewed replace
	reviewed move
	reviewed table
	reviewed limbo
	never content "who finds a new entry finds all of it"
	reachable content 's/rcu_assign_pointer(\(.*\), /WRITE_ONCE(\1, /' "stored plainly"
	never replace "behind what was replaced there is the new entry"
	reachable replace '/smp_rmb/d' "no barrier before the look behind it"
	reachable replace \
		's/atomic_cmpxchg/atomic_cmpxchg_relaxed/; s/rcu_assign_pointer/WRITE_ONCE/' \
		"the claim is not ordered behind the linking"
	never move "an entry that is moved is never in neither chain"
	reachable move '/smp_rmb/d' "no barrier between the chains"
	reachable move 's/smp_store_release(old/WRITE_ONCE(*old/' "taken out by a plain store"
	never table "behind an empty chain there is the next table"
	reachable table '/smp_rmb/d' "no barrier before the next table"
	never limbo "nothing is freed while a reader may look at it"
	reachable limbo '/synchronize_rcu/d' "no grace period"
}

"$here/../need.sh" spin gcc libc6-dev || exit 1
mkdir -p "$out"
[ $# -gt 0 ] || set -- entry request queue litmus
for suite; do
	case $suite in
	entry | request | queue | litmus) "$suite" ;;
	*)
		echo "run.sh: no such model: $suite" >&2
		exit 1
		;;
	esac
done
[ $kept = 0 ] || echo "# $kept searches are those of before: nothing they depend on has changed"
finish
