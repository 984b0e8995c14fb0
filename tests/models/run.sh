#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [NAME]... - check the models of docs/races.md: entry, request, queue, fill, follow,
# window, litmus; without a name, all. Prints TAP; fails if any case fails. The name "reviewed"
# stands for the reviews of all models, and searches nothing.
#
# A model is written by hand after the code. So each function that it copies must be unchanged
# since the model was last compared with it: see review.sh.
#
# The search must find no error in any state of a model, and an error with each -DBREAK_...
# Then this prints the steps to the error:
#
#	spin -t -p -DBREAK_... tests/models/MODEL.pml
#
# with the trail in .cache/build/models. A case takes seconds, and up to 1 GB of memory. A
# search always has the same outcome. tests/cache.sh keeps it for all clones, and the search
# runs again only when the model, its flags, spin, the compiler or search() has changed. A
# cached outcome is checked like a new one.
set -u
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$here/../result.sh"
top=$here/../..
# shellcheck source=tests/environment.sh
. "$top/tests/environment.sh"
out=$top/.cache/build/models
limit=300	# seconds of processor time for a case
store=$("$here/../cache.sh" searches) || exit
errors=1	# a search ends after so many errors; 0: it finds all
kept=0		# number of cached outcomes that were used

# fingerprint SOURCE FLAG... - a hash of all that the outcome of a search depends on.
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

# search DIRECTORY SOURCE FLAG... - search all states; leaves a log in the directory, and a
# trail of the first error.
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

# outcome NAME MODEL FLAG... - put the outcome of a search into $out/NAME, from the cache or by
# a new search. A search that came to its end is cached; a rename makes that atomic.
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
	# Another clone may have cached it first.
	mv -T "$store/$key.$$" "$store/$key" 2>/dev/null
	rm -rf "$store/$key.$$"
	find "$store" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
}

# ended LOG - true if the search came to its end, and met no limit.
ended() {
	grep -qx 'status 0' "$1" &&
		! grep -Eq 'Search not completed|out of memory|too small' "$1"
}

# good NAME MODEL DESCRIPTION FLAG... - a test: the search finds no error in any state.
good() {
	log=$out/$1/log
	name=$1 model=$2 what=$3
	shift 3
	outcome "$name" "$model" "$@"
	ended "$log" && grep -q 'errors: 0$' "$log"
	result $? "$model: $what" "$log"
}

# found LOG ERROR - true if the errors that pan printed include ERROR.
found() {
	grep -E '^pan:[0-9]+: (assertion violated|invalid end state)' "$1" | grep -Fq -- "$2"
}

# bad FLAG ERROR MODEL DESCRIPTION FLAG... - a test: with FLAG the search finds an assertion that
# fails, or a state without an exit, and ERROR is the first one it finds.
bad() {
	log=$out/$1/log
	name=$1 error=$2 model=$3 what=$4
	shift 4
	outcome "$name" "$model" "-D$name" "$@"
	grep -q 'errors: 1$' "$log" && found "$log" "$error" &&
		[ -s "$out/$name/$model.pml.trail" ]
	result $? "$model: $what" "$log"
}

# also FLAG ERROR MODEL DESCRIPTION FLAG... - a test: with FLAG, ERROR is among all errors.
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
	refreshed="-DREFRESHES $two"
	# shellcheck disable=SC2086 # lists of flags, split on purpose
	{
		good entry-readers entry "no error with two readers and one write" $two
		good entry-writes entry "no error with one reader and two writes" $one
		good entry-refresh-readers entry \
			"no error with two readers, of which one refreshes, and one write" $refreshed
		good entry-refresh-writes entry \
			"no error with one reader that may refresh, and two writes" \
			-DREFRESHES $one
		good entry-reinsert-writes entry \
			"no error with one reader, two writes and reinserted entries" \
			-DREINSERT $one
		good entry-reinsert-readers entry \
			"no error with two readers, of which one refreshes, and reinserted entries" \
			-DREINSERT $refreshed
		bad BREAK_SEAL 'told&(1<<old)' entry \
			"error found if a reader does not seal: a put replaces a missed entry" $two
		also BREAK_SEAL 'told&(1<<entry)' entry \
			"error found if a reader does not seal: a missed entry is refreshed" \
			$refreshed
		bad BREAK_STORE 'promised[1]<=clock' entry \
			"error found if a refresh stores without comparing" $refreshed
		bad BREAK_DRAIN 'promised[1]<=clock' entry \
			"error found if the drain stores without comparing" $refreshed
		bad BREAK_COMPARE '>now)||(result>now)' entry \
			"error found if a reader does not compare the deadline" $two
		bad BREAK_LOOK '(absent&' entry \
			"error found if a reader takes a replaced entry for a miss" $two
		bad BREAK_ORDER '(entry!=255)' entry \
			"error found if a put claims the old entry before it links the new one" $two
		bad BREAK_KEEP '>=promised[old]' entry \
			"error found if a put that keeps the time loses a refresh" \
			-DREFRESHES $one
		bad BREAK_SHORTEN '&120)>clock)' entry \
			"error found if an entry with an earlier deadline stays in its bucket" $one
		bad BREAK_LATE 'expired& ~(handled)' entry \
			"error found if the handler runs after the lock is released" $one
		bad BREAK_FIND_LIVE '&120)>now)' entry \
			"error found if a writer does not check the deadline of the old entry" $one
		bad BREAK_REFUSE 'told&(1<<old)' entry \
			"error found if a put replaces a sealed entry" $two
		bad BREAK_RENEW 'told&(1<<old)' entry \
			"error found if a put overwrites a sealed entry" $two
		bad BREAK_SOONER '&120)>clock)' entry \
			"error found if an overwritten entry stays in its bucket for an earlier deadline" \
			$one
		bad BREAK_BUSY '(other)' entry \
			"error found if an entry keeps its version while a put overwrites it" $two
		bad BREAK_UNCHANGED '(other)' entry \
			"error found if a reader does not look at the version again" $two
		bad BREAK_POLICY '(stamp[entry]==seen)' entry \
			"error found if a reader asks whether gets refresh after it looked at the version" \
			$one
		bad BREAK_WAIT '(absent&' entry \
			"error found if a reader takes an entry without a version for a cleared one" $two
	}
}

request() {
	reviewed request
	good request request \
		"no error with puts, timeout, clear, cancel and close while registering"
	bad BREAK_TEST '!(freed)' request \
		"error found if a request is claimed without a test for an earlier claim"
	bad BREAK_LINKING '!(freed)' request \
		"error found if a request is finished while its watches are being linked"
	bad BREAK_DONE '(refs==0)&&freed' request \
		"error found if the task that links a request does not check that it was completed"
	bad BREAK_RECHECK '!(on_wheel))&& !(attached))' request \
		"error found if a claimed request is put on the wheel"
	bad BREAK_UNWATCH '(watch[0]==0)' request \
		"error found if the watches of a completed request stay in their lists"
	bad BREAK_REF '!(freed)' request "error found if a cancel holds no reference"
	bad BREAK_WATCHED '!(freed)' request \
		"error found if no reference keeps a request until its watches are unlinked"
	bad BREAK_GONE '!(queued)' request \
		"error found if a completion is queued for a client that has closed"
	bad BREAK_UNSET '(word>=128)' request \
		"error found if a request is attached before its deadline is set"
	bad BREAK_ATTACH '!(closed)' request \
		"error found if a request is attached to a client that has closed"
}

queue() {
	reviewed queue
	good queue queue "no error with unlock, lease, renewal, timeouts and sleep of three tasks"
	bad BREAK_STATE 'invalid end state' queue \
		"error found if a waiter sets its state to sleep after it has checked"
	bad BREAK_WAKE 'asleep[me]' queue "error found if the new owner of a lock is not woken"
	bad BREAK_ARM 'timer[line[0]]<=lease' queue \
		"error found if a hand-over sets no timer for the next waiter"
	bad BREAK_PASS 'timer[line[0]]<=lease' queue \
		"error found if a waiter that times out sets no timer for the next one"
	bad BREAK_RENEW 'timer[line[0]]<=lease' queue \
		"error found if a renewal sets no timer for the first waiter"
	bad BREAK_HAND '!(length)' queue \
		"error found if an unlock only wakes the first waiter, which tries again"
	bad BREAK_RESULT '(owner!=me)' queue \
		"error found if a waiter times out without a check that it owns the lock"
}

fill() {
	reviewed fill
	good fill fill "no error with two callers, a writer, a clock, evictions and every end of a lease"
	bad BREAK_REMOVE '(fetched>returned)' fill \
		"error found if a remove of a key without an entry does not end its fill lease"
	bad BREAK_EXPIRE '(fetched>returned)' fill \
		"error found if an expire does not end the fill lease"
	bad BREAK_AHEAD '(fetched>returned)' fill \
		"error found if a remove of a key with an entry does not end its fill lease"
	bad BREAK_SECTION '(value>returned)' fill \
		"error found if a remove ends the fill lease after its critical section"
	bad BREAK_PUT '(fetched>returned)' fill \
		"error found if a put of another task does not end the fill lease"
	bad BREAK_CLEAR '!(ended[me])' fill "error found if a clear does not reach the fill lease"
	bad BREAK_OVER '!(ended[me])' fill \
		"error found if a put is accepted whose fill lease is over"
	bad BREAK_TOKEN '!(ended[me])' fill \
		"error found if a put does not compare the token of the fill lease"
	bad BREAK_SAME '!(ended[me])' fill \
		"error found if a fill lease that is handed over keeps its token"
	bad BREAK_FAILED '!(ended[me])' fill \
		"error found if a put is accepted whose fill has failed"
	bad BREAK_CHECK '!(ended[me])' fill \
		"error found if a put looks for its fill lease before the critical section"
	bad BREAK_RENEW '!(ended[me])' fill "error found if a fill lease that is over is renewed"
	bad BREAK_LINE '!(putting)' fill \
		"error found if a put leaves the waiters in the line: it hands the fill lease over"
	bad BREAK_TELL '!(length)' fill \
		"error found if a failure leaves the waiters in the line"
	bad BREAK_HAND 'invalid end state' fill \
		"error found if the first waiter gets no fill lease when one ends"
}

follow() {
	reviewed follow
	good follow follow "no error with two readers, two writes, and a connection that breaks twice"
	bad BREAK_LEASE '(fetched>=known)' follow "error found if a put does not need the fill lease"
	bad BREAK_ABSENT '(fetched>=known)' follow \
		"error found if a removal of an absent key does not end its fill lease"
	bad BREAK_CLEAR '(fetched>=known)' follow "error found if a clear ends no fill lease"
	bad BREAK_FETCH '(fetched>=known)' follow \
		"error found if a reader fetches before it has the fill lease"
	bad BREAK_EARLY '(value==origin)' follow \
		"error found if an invalidation is sent before its write takes effect"
	bad BREAK_ORDER '(value>=known)' follow \
		"error found if the answer to a ping overtakes an invalidation"
	bad BREAK_LOSS '(value>=known)' follow "error found if a loss does not clear the belt"
	bad BREAK_OFFLINE '(value>=known)' follow \
		"error found if nothing clears the belt while the connection is lost"
	bad BREAK_RECONNECT '(value==origin)' follow \
		"error found if nothing clears the belt after the connection is back"
	bad BREAK_BEFORE '(value==origin)' follow \
		"error found if the belt is cleared before tracking is on"
	bad BREAK_WATCH '(value==origin)' follow \
		"error found if the loss of the connection with the invalidations is not noticed"
	bad BREAK_FAILED '(value>=known)' follow "error found if a removal fails, and nothing clears the belt"
}

window() {
	reviewed window
	changes="-DWRITES=2 -DFILLS=1"
	others="-DWRITES=1 -DFILLS=2 -DOTHERS=1"
	times="-DWRITES=1 -DFILLS=1 -DTICKS=3"
	moves="-DMOVES=3 -DTICKS=2"
	policies="-DSETS=2 -DWRITES=1"
	refreshes="-DSETS=2 -DFILLS=1 -DREFRESHES=1 -DTICKS=2"
	closed="-DSETS=1 -DMOVES=1 -DTICKS=2"
	empty="-DEMPTY -DSETS=1 -DWRITES=1 -DFILLS=2"
	leases="-DLEASES=1 -DWRITES=1 -DFILLS=1"
	# shellcheck disable=SC2086 # lists of flags, split on purpose
	{
		good window-changes window "no error with two writes and a fill" $changes
		good window-others window \
			"no error with a write, two fills with the key, and one with another" $others
		good window-times window "no error with a write, a fill, and three ticks" $times
		good window-moves window "no error with three moves of belt time" $moves
		good window-moved window "no error with a write, and two moves of belt time" \
			-DMOVES=2 -DWRITES=1 -DTICKS=2
		good window-policies window \
			"no error with a write, and two changes of settings" $policies
		good window-refreshes window \
			"no error with a fill, a refresh, and two changes of settings" $refreshes
		good window-closed window \
			"no error with a move of belt time while the window is closed" $closed
		good window-empty window \
			"no error with a slot that is empty at first, and a window that is closed" $empty
		good window-leases window "no error with a write, a fill and a fill lease" $leases
		bad BREAK_CLAIM 'seen<=4' window \
			"error found if the slot is emptied after the entry is claimed" $changes
		bad BREAK_ODD '(copy==seen)' window \
			"error found if the sequence is not odd while the slot changes" $others
		bad BREAK_PARITY '(copy==seen)' window \
			"error found if a reader goes on after it has loaded an odd sequence" $others
		bad BREAK_SECOND '(copy==seen)' window \
			"error found if a reader does not load the sequence again" $others
		bad BREAK_RESTART '(copy==seen)' window \
			"error found if the sequence starts again with each fill" $others
		bad BREAK_LOCK 'seen<=4' window \
			"error found if a fill does not take the lock of the shard" $changes
		bad BREAK_LIVE 'seen<=4' window \
			"error found if a fill copies what the get has found before it took the lock" \
			$changes
		also BREAK_LIVE '(from[seen]>old)' window \
			"value from before an invalidation found if a fill copies what the get has found" \
			$leases
		bad BREAK_REF 'seen<=4' window \
			"error found if the window has no reference to the entry: a put overwrites it" \
			$changes
		bad BREAK_DROP 'seen<=4' window \
			"error found if a fill drops the reference to another entry before it empties the slot" \
			$others
		bad BREAK_TOUCH 'seen<=4' window \
			"error found if the sequence is not odd while a touch changes the deadline" \
			$changes
		bad BREAK_FLOOR 'seen<=4' window \
			"error found if a clear raises the floor of the window after that of the belt" \
			$changes
		bad BREAK_EARLY 'seen<=4' window \
			"error found if a reader takes the time before it loads the sequence" $times
		bad BREAK_MOVE 'seen<=4' window \
			"error found if belt time changes before the clock of the window is odd" $moves
		bad BREAK_CHANGING 'seen<=4' window \
			"error found if a reader goes on after it has found the clock odd" $moves
		bad BREAK_CLOCK 'seen<=4' window \
			"error found if a reader does not look at the clock of the window again" $moves
		bad BREAK_RENEWS 'seen<=4' window \
			"error found if gets renew before the window says so" $policies
		bad BREAK_RENEWED 'seen<=4' window \
			"error found if the window says that gets do not renew while they do" $policies
		bad BREAK_GRACE 'seen<=4' window \
			"error found if the window says so while a get may still renew" $refreshes
		bad BREAK_LOWER 'seen<=4' window \
			"error found if a copy with an earlier deadline stays in the window then" \
			$refreshes
		bad BREAK_DEAD 'seen<=4' window \
			"error found if a closed window does not keep an odd clock" $closed
		also BREAK_DEAD '(copy==seen)' window \
			"copy of two values found if a closed window does not keep an odd clock" $empty
	}
}

# never NAME DESCRIPTION - a test: the outcome that the litmus test asks for cannot occur.
never() {
	log=$out/$1.log
	"$here/herd.sh" "$here/$1.litmus" >"$log" 2>&1 &&
		grep -q "^Observation $1 Never" "$log" && ! grep -q '^Flag' "$log"
	result $? "litmus $1: $2" "$log"
}

# reachable NAME SCRIPT DESCRIPTION - a test: after an edit by sed that outcome can occur.
reachable() {
	log=$out/$1-broken.log
	sed "$2" "$here/$1.litmus" >"$out/$1-broken.litmus"
	! cmp -s "$here/$1.litmus" "$out/$1-broken.litmus" &&
		"$here/herd.sh" "$out/$1-broken.litmus" >"$log" 2>&1 &&
		grep -q "^Observation $1 Sometimes" "$log"
	result $? "litmus $1: error found $3" "$log"
}

# reviewed MODEL - tests: the functions that the model copies are unchanged since its review.
reviewed() {
	log=$out/$1.review
	"$here/review.sh" --names "$1" >"$log" 2>&1
	result $? "$1: tests/models/functions lists each function that the model names" "$log"
	awk -v model="$1" '$1 == model' "$here/functions" >"$out/$1.functions"
	[ -s "$out/$1.functions" ] || echo "$1 - - -" >"$out/$1.functions"
	while read -r model file name hash; do
		"$here/review.sh" --check "$model" "$file" "$name" "$hash" >"$log" 2>&1
		result $? "$1: $name in $file is unchanged since the model's review" "$log"
	done <"$out/$1.functions"
}

window_litmus() {
	never slot "a reader that finds a sequence unchanged has copied what one fill has written"
	reachable slot '/smp_wmb/d' "without a barrier before the slot changes"
	reachable slot 's/smp_store_release(sequence, 2)/WRITE_ONCE(*sequence, 2)/' \
		"if a fill ends with a plain store"
	reachable slot 's/smp_load_acquire(sequence)/READ_ONCE(*sequence)/' \
		"if a reader loads the sequence plainly first"
	reachable slot '/smp_rmb/d' "without a barrier before a reader loads the sequence again"
	never emptied "a reader that was told of a change does not find the copy from before it"
	reachable emptied '/smp_wmb/d; s/atomic_cmpxchg/atomic_cmpxchg_relaxed/' \
		"if neither the barrier nor the claim orders the emptying before the claim"
	never touched "a reader that was told of a touch does not find the deadline from before it"
	reachable touched '/smp_wmb/d; s/atomic_cmpxchg/atomic_cmpxchg_relaxed/' \
		"if neither the barrier nor the exchange orders the odd sequence before the deadline"
	reachable touched 's/smp_store_release(sequence, 2)/WRITE_ONCE(*sequence, 2)/' \
		"if a touch ends with a plain store"
	reachable touched 's/smp_load_acquire(sequence)/READ_ONCE(*sequence)/' \
		"if a reader loads the sequence plainly first"
	never dropped "a reader that finds the value of a put does not find the copy from before it"
	reachable dropped '/^P0/,/^P1/{/smp_wmb/d; s/_release(1/_relaxed(1/}' \
		"if nothing orders the emptying before the drop of the reference"
	reachable dropped 's/if (r0 == 1)/if (1)/' "if a put does not look at the reference"
	reachable dropped 's/smp_store_release(version, 2)/WRITE_ONCE(*version, 2)/' \
		"if a put sets the version by a plain store"
	reachable dropped 's/smp_load_acquire(version)/READ_ONCE(*version)/' \
		"if a get reads the version by a plain load"
	never shown "a reader takes no belt time from before a change that it was told of"
	reachable shown '/smp_mb/d' "without a barrier before belt time changes"
	reachable shown 's/smp_store_release(clock, 2)/WRITE_ONCE(*clock, 2)/' \
		"if a change of belt time ends with a plain store"
	reachable shown 's/smp_load_acquire(clock)/READ_ONCE(*clock)/' \
		"if a reader loads the clock plainly first"
	reachable shown '/smp_rmb/d' "without a barrier before a reader loads the clock again"
	never floor "a reader that was told of a clear finds the window cleared"
	reachable floor '/smp_mb/d' "without a barrier between the two floors"
	never renews "a reader that need not renew any more finds the floor and the policy of then"
	reachable renews '/synchronize_rcu/d; s/smp_store_release(state, 0)/WRITE_ONCE(*state, 0)/' \
		"if neither a grace period nor a release orders the policy before the state"
	reachable renews 's/smp_load_acquire(state)/READ_ONCE(*state)/' \
		"if a reader loads the state plainly"
}

# all_reviewed - the reviews of the models that spin searches.
all_reviewed() {
	for model in "$here"/*.pml; do
		model=$(basename "$model" .pml)
		! grep -q "^$model " "$here/functions" || reviewed "$model"
	done
}

litmus() {
	reviewed content
	reviewed replace
	reviewed overwrite
	reviewed move
	reviewed table
	reviewed limbo
	reviewed listed
	reviewed slot
	reviewed emptied
	reviewed touched
	reviewed dropped
	reviewed shown
	reviewed floor
	reviewed renews
	never content "a reader that finds a new entry sees all of its content"
	reachable content 's/rcu_assign_pointer(\(.*\), /WRITE_ONCE(\1, /' \
		"if an entry is linked by a plain store"
	never replace "a reader that finds a replaced entry finds the new one behind it"
	reachable replace '/smp_rmb/d' "without a barrier before a reader follows a replaced entry"
	reachable replace \
		's/atomic_cmpxchg/atomic_cmpxchg_relaxed/; s/rcu_assign_pointer/WRITE_ONCE/' \
		"if the claim is not ordered after the linking"
	never overwrite "a reader that finds a version unchanged has read its value"
	reachable overwrite '/smp_wmb/d' "without a barrier before a put writes the value"
	reachable overwrite 's/smp_store_release(version, 2)/WRITE_ONCE(*version, 2)/' \
		"if a put sets the version by a plain store"
	reachable overwrite 's/smp_load_acquire(version)/READ_ONCE(*version)/' \
		"if a reader reads the version by a plain load"
	reachable overwrite '/smp_rmb/d' "without a barrier before a reader looks at the version again"
	never move "a reader finds an entry that is being moved in one of the chains"
	reachable move '/smp_rmb/d' "without a barrier between the searches of the two chains"
	reachable move 's/smp_store_release(old/WRITE_ONCE(*old/' \
		"if an entry is taken out of the old chain by a plain store"
	never table "a reader that finds an emptied chain finds the next table"
	reachable table '/smp_rmb/d' "without a barrier before a reader's look at the next table"
	never limbo "no entry is freed while a reader may access it"
	reachable limbo '/synchronize_rcu/d' "without a grace period"
	never listed "no belt with an entry is missing in the shrinker's list"
	reachable listed '0,/smp_mb/{/smp_mb/d}' "without a barrier before a put looks at the list"
	reachable listed '/^P1/,/^exists/s/smp_mb();//' "without a barrier before the shrinker looks for entries"
	window_litmus
}

"$here/../need.sh" spin gcc libc6-dev || exit 1
mkdir -p "$out"
[ $# -gt 0 ] || set -- entry request queue fill follow window litmus
for suite; do
	case $suite in
	entry | request | queue | fill | follow | window | litmus) "$suite" ;;
	reviewed) all_reviewed ;;
	*)
		echo "run.sh: no such model: $suite" >&2
		exit 1
		;;
	esac
done
[ $kept = 0 ] || echo "# $kept outcomes are from the cache: nothing they depend on has changed"
finish
