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
# The search must find no error in any state of a model, and an error after each edit that breaks
# it. .cache/build/models/CASE has the edited model and the trail of the error (docs/races.md).
# A case takes seconds, and up to 1 GB of memory. A search always has the same outcome.
# tests/cache.sh keeps it for all clones, and the search runs again only when the model, its
# flags, spin, the compiler or search() has changed. A cached outcome is checked like a new one.
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

# search SOURCE FLAG... - search all states; leaves a log in the directory of the source, and a trail of the
# first error.
search() {
	cp "$here/word.pml" "${1%/*}" && cd "${1%/*}" || return
	source=${1##*/}
	shift
	spin -a "$@" "$source" || return
	gcc -w -O1 -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=1000 -o pan pan.c || return
	prlimit --cpu="$limit" ./pan -m100000 "-c$errors"
	echo "status $?"
	rm -f pan pan.?
}

# outcome NAME EDIT FLAG... - put the outcome of a search of the model, edited by sed, into $out/NAME, from the
# cache or by a new search. A search that came to its end is cached; a rename makes that atomic.
outcome() {
	work=$out/$1
	log=$work/log
	rm -rf "$work"
	mkdir -p "$work"
	sed "$2" "$here/$model.pml" >"$work/$model.pml"
	shift 2
	key=$(fingerprint "$work/$model.pml" "$@")
	if [ -d "$store/$key" ]; then
		kept=$((kept + 1))
		touch "$store/$key"
		cp "$store/$key"/* "$work"
		return
	fi
	(search "$work/$model.pml" "$@") >"$log" 2>&1
	grep -qx 'status 0' "$log" || return
	rm -rf "$store/$key.$$"
	cp -r "$work" "$store/$key.$$"
	# Another clone may have cached it first.
	mv -T "$store/$key.$$" "$store/$key" 2>/dev/null
	rm -rf "$store/$key.$$"
	find "$store" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
}

# ended - true if the search came to its end, and met no limit.
ended() {
	grep -qx 'status 0' "$log" &&
		! grep -Eq 'Search not completed|out of memory|too small' "$log"
}

# good NAME DESCRIPTION FLAG... - a test: the search finds no error in any state.
good() {
	name=$1 what=$2
	shift 2
	outcome "$model-$name" '' "$@"
	ended && grep -q 'errors: 0$' "$log"
	result $? "$model: no error with $what" "$log"
}

# found ERROR - true if the errors that pan printed include ERROR, in the model that the edit has changed.
found() {
	grep -E '^pan:[0-9]+: (assertion violated|invalid end state)' "$log" | grep -Fq -- "$1" &&
		! cmp -s "$here/$model.pml" "$work/$model.pml"
}

# bad NAME ERROR EDIT DESCRIPTION FLAG... - a test: in the edited model the search finds an assertion that fails,
# or a state without an exit, and ERROR is the first one it finds.
bad() {
	name=$1 error=$2 edit=$3 what=$4
	shift 4
	outcome "$model-$name" "$edit" "$@"
	grep -q 'errors: 1$' "$log" && found "$error" && [ -s "$work/$model.pml.trail" ]
	result $? "$model: error found if $what" "$log"
}

# also NAME ERROR EDIT DESCRIPTION FLAG... - a test: in the edited model, ERROR is among all errors.
also() {
	name=$1 error=$2 edit=$3 what=$4
	shift 4
	errors=0
	outcome "$model-$name-all" "$edit" "$@"
	errors=1
	ended && found "$error"
	result $? "$model: error found if $what" "$log"
}

# inside NAME - print the address of a definition in a model, for an edit.
inside() {
	echo "/^\(inline\|proctype\|active proctype\) $1/,/^}/"
}

entry() {
	reviewed entry
	two="-DREADERS=2 -DWRITES=1 -DTICKS=2"
	one="-DREADERS=1 -DWRITES=2 -DTICKS=3"
	refreshed="-DREFRESHES $two"
	late="atomic { if :: expired \& ~handled \& 1 -> handle(0) :: expired \& ~handled \& 2 -> handle(1)"
	late="$late :: expired \& ~handled \& 4 -> handle(2) :: else fi }"
	seal="$(inside seal)s/exchange(.*);/ok = 1;/"
	# shellcheck disable=SC2086 # lists of flags, split on purpose
	{
		good readers "two readers and one write" $two
		good writes "one reader and two writes" $one
		good refresh-readers "two readers, of which one refreshes, and one write" $refreshed
		good refresh-writes "one reader that may refresh, and two writes" -DREFRESHES $one
		good reinsert-writes "one reader, two writes and reinserted entries" -DREINSERT $one
		good reinsert-readers "two readers, of which one refreshes, and reinserted entries" -DREINSERT $refreshed
		bad seal 'told&(1<<old)' "$seal" "a reader does not seal: a put replaces a missed entry" $two
		also seal 'told&(1<<entry)' "$seal" "a reader does not seal: a missed entry is refreshed" $refreshed
		bad store 'promised[1]<=clock' "$(inside move)s/:: word\[node\] == was/:: true/" \
			"a refresh stores without comparing" $refreshed
		bad drain 'promised[1]<=clock' \
			"$(inside claim_due)s/exch.*;/atomic { word[node] = AS_CLAIMED(was, EXPIRED); ok = 1; note() };/" \
			"the drain stores without comparing" $refreshed
		bad compare '>now)||(result>now)' "$(inside reader)s/seal(entry, is, done);/goto found;/" \
			"a reader does not compare the deadline" $two
		bad look '(absent&' "$(inside reader)s/entry = behind\[entry\];/goto miss;/" \
			"a reader takes a replaced entry for a miss" $two
		bad order '(entry!=255)' \
			"$(inside replace){/behind\[old\] = entry/d; s/supersede.*/& behind[old] = entry;/}" \
			"a put claims the old entry before it links the new one" $two
		bad keep '>=promised[old]' '/WHEN(keep, /d' "a put that keeps the time loses a refresh" -DREFRESHES $one
		bad shorten '&120)>clock)' "$(inside shorten){/bucket/d}" \
			"an entry with an earlier deadline stays in its bucket" $one
		bad late 'expired& ~(handled)' \
			"$(inside 'expire('){/handle(/d}; $(inside release_lock)s/now = 0/$late; &/" \
			"the handler runs after the lock is released" $one
		bad find-live '&120)>now)' "$(inside find_live)s/claim_due(.*);/ok = 0;/" \
			"a writer does not check the deadline of the old entry" $one
		bad refuse 'told&(1<<old)' "$(inside supersede){/:: was & HB_SEALED/d}" "a put replaces a sealed entry" $two
		bad renew 'told&(1<<old)' "$(inside renew)s/:: was & HB_SEALED/:: false/" \
			"a put overwrites a sealed entry" $two
		bad sooner '&120)>clock)' "$(inside renew){/WHEN(was > /d}" \
			"an overwritten entry stays in its bucket for an earlier deadline" $one
		bad busy '(other)' '/stamp\[old\] = 0;/d' "an entry keeps its version while a put overwrites it" $two
		bad unchanged '(other)' '/WHEN(stamp\[entry\] != seen/d' \
			"a reader does not look at the version again" $two
		bad policy '(stamp[entry]==seen)' \
			"$(inside reader){/wants_refresh();/d; s/WHEN(stamp.*/& wants_refresh();/}" \
			"a reader asks whether gets refresh after it looked at the version" $one
		bad wait '(absent&' 's/stamp\[entry\] != 0 -> seen/seen/' \
			"a reader takes an entry without a version for a cleared one" $two
	}
}

request() {
	reviewed request
	good all "puts, timeout, clear, cancel and close while registering"
	bad test '!(freed)' "$(inside try_claim){/:: IS_CLAIMED/d; s/:: !IS_CLAIMED(was) ->/::/}" \
		"a request is claimed without a test for an earlier claim"
	bad linking '!(freed)' 's/flag = linking/flag = 0/' \
		"a request is finished while its watches are being linked"
	bad settle '(refs==0)&&freed' 's/flag = done/flag = 0/' \
		"the task that links a request does not check that it was completed"
	bad recheck '!(on_wheel))&& !(attached))' 's/WHEN(!IS_CLAIMED(word), on_wheel = 1)/on_wheel = 1/' \
		"a claimed request is put on the wheel"
	bad unwatch '(watch[0]==0)' '/^	unwatch([01]);/d' "the watches of a completed request stay in their lists"
	bad ref '!(freed)' "$(inside cancel)s/refs++\|drop()/skip/" "a cancel holds no reference"
	bad watched '!(freed)' "$(inside detach){/^		refs++/d}" \
		"no reference keeps a request until its watches are unlinked"
	bad gone '!(queued)' 's/RELEASED && !gone/RELEASED/; /RELEASED && gone/d' \
		"a completion is queued for a client that has closed"
	bad unset '(word>=128)' '/^	word = DEADLINE;/d; s/:: !err -> atomic/:: !err -> word = DEADLINE; atomic/' \
		"a request is attached before its deadline is set"
	bad attach '!(closed)' 's/:: gone -> err = 1/:: false/' "a request is attached to a client that has closed"
}

queue() {
	reviewed queue
	good all "unlock, lease, renewal, timeouts and sleep of three tasks"
	bad state 'invalid end state' \
		'/state\[me\] = INTERRUPTIBLE/d; s/WHEN(result\[me\] != WAITING, break);/& state[me] = INTERRUPTIBLE;/' \
		"a waiter sets its state to sleep after it has checked"
	bad wake 'asleep[me]' "$(inside 'leave('){/wake(/d}" "the new owner of a lock is not woken"
	bad arm 'timer[line[0]]<=lease' "$(inside 'leave(')s/arm_first()/skip/" \
		"a hand-over sets no timer for the next waiter"
	bad pass 'timer[line[0]]<=lease' "$(inside look_around)s/arm_first()/skip/" \
		"a waiter that times out sets no timer for the next one"
	bad renew 'timer[line[0]]<=lease' "$(inside task)s/arm_first()/skip/" \
		"a renewal sets no timer for the first waiter"
	bad hand '!(length)' "$(inside 'leave('){/place = 0;$/,/GRANTED/d; s/arm_first()/skip/}" \
		"an unlock only wakes the first waiter, which tries again"
	bad result '(owner!=me)' "$(inside look_around)s/:: result.me. != WAITING$/& \&\& until[me] > clock\n:: result[me] != WAITING \&\& until[me] <= clock -> result[me] = TIMED_OUT/" \
		"a waiter times out without a check that it owns the lock"
}

fill() {
	reviewed fill
	good all "two callers, a writer, a clock, evictions and every end of a lease"
	bad remove '(fetched>returned)' "$(inside invalidate)s/(leased,/(leased \&\& held,/" \
		"a remove of a key without an entry does not end its fill lease"
	bad ahead '(fetched>returned)' "$(inside invalidate)s/(leased,/(leased \&\& !held,/" \
		"a remove of a key with an entry does not end its fill lease"
	bad section '(value>returned)' "$(inside invalidate)s/value = 0;/& }; atomic {/" \
		"a remove ends the fill lease after its critical section"
	bad put '(fetched>returned)' "$(inside store)s/(leased,/(leased \&\& holder == me,/" \
		"a put of another task does not end the fill lease"
	bad clear '!(ended[me])' '/define IS_LIVE/s/ && !cleared//' "a clear does not reach the fill lease"
	bad over '!(ended[me])' '/define HOLDS/s/IS_LIVE/leased \&\& !cleared/' \
		"a put is accepted whose fill lease is over"
	bad token '!(ended[me])' '/define IS_OWN/s/(token.*/1/' "a put does not compare the token of the fill lease"
	bad same '!(ended[me])' 's/^	token = versions;/token = (token -> token : versions);/; s/; token = 0//' \
		"a fill lease has the token of the one before"
	bad failed '!(ended[me])' '/define HOLDS/s/ && !failed//' "a put is accepted whose fill has failed"
	bad check '!(ended[me])' "$(inside put_if_lease)s/held = HOLDS(me);/& }; atomic {/" \
		"a put looks for its fill lease before the critical section"
	bad renew '!(ended[me])' "$(inside renew){/find();/d; s/HOLDS(me)/IS_OWN(me) \&\& !cleared \&\& !failed/}" \
		"a fill lease that is over is renewed"
	bad line '!(putting)' "$(inside store){/tell_waiters();/d}" \
		"a put leaves the waiters in the line: it hands the fill lease over"
	bad tell '!(length)' "$(inside fail){/tell_waiters();/d}" "a failure leaves the waiters in the line"
	bad hand 'invalid end state' "$(inside leave)s/WHEN(length/WHEN(false/" \
		"the first waiter gets no fill lease when one ends"
}

follow() {
	reviewed follow
	good all "two readers, two writes, and a connection that breaks twice"
	bad lease '(fetched>=known)' '/define HOLDS/s/(holder.*/1/' "a put does not need the fill lease"
	bad absent '(fetched>=known)' "$(inside remove)s/holder = NONE/WHEN(value, &)/" \
		"a removal of an absent key does not end its fill lease"
	bad clear '(fetched>=known)' "$(inside clear){/holder = NONE/d}" "a clear ends no fill lease"
	bad fetch '(fetched>=known)' \
		"$(inside reader){s/tries++;/& fetched = origin;/; s/== me, fetched = origin;/== me,/}" \
		"a reader fetches before it has the fill lease"
	bad early '(value==origin)' 's/{ origin++; pending = tracked }/{ pending = tracked }/
		s/send(origin)/send(origin + 1); origin++/' "an invalidation is sent before its write takes effect"
	bad order '(value>=known)' \
		's/{ connection?kind, told;/{ if :: connection?kind, told :: connection??PONG, told -> kind = PONG fi;/' \
		"the answer to a ping overtakes an invalidation"
	bad loss '(value>=known)' "$(inside lose){/clear();/d}" "a loss does not clear the belt"
	bad offline '(value>=known)' '/on_offline/,/learn/{/clear();/d}' \
		"nothing clears the belt while the connection is lost"
	bad reconnect '(value==origin)' '/on_following/,/learn/{/clear();\|learn/d}' \
		"nothing clears the belt after the connection is back"
	bad before '(value==origin)' \
		'/on_following/,/learn/{/clear();\|learn/d}; s/LOST -> state = TRACKED/LOST -> clear(); state = TRACKED/' \
		"the belt is cleared before tracking is on"
	bad watch '(value==origin)' '/!tracked -> lose()/d' \
		"the loss of the connection with the invalidations is not noticed"
	bad failed '(value>=known)' "$(inside receive)s/lose()/learn(told)/" \
		"a removal fails, and nothing clears the belt"
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
	live="$(inside filler){s/which = ([^)]*)/skip/; s/deadline));/end));/}"
	dead="$(inside clock_leave){/clock = clock + shown/d}"
	# shellcheck disable=SC2086 # lists of flags, split on purpose
	{
		good changes "two writes and a fill" $changes
		good others "a write, two fills with the key, and one with another" $others
		good times "a write, a fill, and three ticks" $times
		good moves "three moves of belt time" $moves
		good moved "a write, and two moves of belt time" -DMOVES=2 -DWRITES=1 -DTICKS=2
		good policies "a write, and two changes of settings" $policies
		good refreshes "a fill, a refresh, and two changes of settings" $refreshes
		good closed "a move of belt time while the window is closed" $closed
		good empty "a slot that is empty at first, and a window that is closed" $empty
		good leases "a write, a fill and a fill lease" $leases
		bad claim 'seen<=4' "$(inside '\(put\|take_out\)('){/window_leave/d; s/^}/; window_leave() }/}" \
			"the slot is emptied after the entry is claimed" $changes
		bad odd '(copy==seen)' '/define BEGIN_SLOT/s/sequence++/skip/; /define END_SLOT/s/++/ = sequence + 2/' \
			"the sequence is not odd while the slot changes" $others
		bad parity '(copy==seen)' '/WHEN(first % 2/d' "a reader goes on after it has loaded an odd sequence" $others
		bad second '(copy==seen)' 's/begun = sequence/begun = first/' \
			"a reader does not load the sequence again" $others
		bad restart '(copy==seen)' '/define END_SLOT/s/++/ = 2/' "the sequence starts again with each fill" $others
		bad lock 'seen<=4' "$live; $(inside filler)s/!lock -> lock = 1/skip/; s/{ lock = 0; which/{ which/" \
			"a fill does not take the lock of the shard" $changes
		bad live 'seen<=4' "$live" "a fill copies what the get has found before it took the lock" $changes
		also live '(from[seen]>old)' "$live" \
			"a fill copies what the get has found: a value from before an invalidation" $leases
		bad ref 'seen<=4' '/ref = whose == KEY/d' \
			"the window has no reference to the entry: a put overwrites it" $changes
		bad drop 'seen<=4' "$(inside drop_copy)s/BEGIN_SLOT/ref = 0; &/" \
			"a fill drops the reference to another entry before it empties the slot" $others
		bad touch 'seen<=4' "$(inside touch)s/\(BEGIN\|END\)_SLOT/skip/" \
			"the sequence is not odd while a touch changes the deadline" $changes
		bad floor 'seen<=4' "$(inside clear){/top = /d; s/floor = versions/&; top = versions/}" \
			"a clear raises the floor of the window after that of the belt" $changes
		bad early 'seen<=4' "$(inside reader){/begun = clock/,/WHEN(clock/d; s/^	bit bound;/&\nnow = (halted -> halted : fine + offset);/}" \
			"a reader takes the time before it loads the sequence" $times
		bad move 'seen<=4' 's/; clock = clock + shown }/ }/; s/^	*offset = belt_offset/clock++; &/' \
			"belt time changes before the clock of the window is odd" $moves
		bad changing 'seen<=4' '/WHEN(begun % 2/d' "a reader goes on after it has found the clock odd" $moves
		bad clock 'seen<=4' '/WHEN(clock != begun/d' \
			"a reader does not look at the clock of the window again" $moves
		bad renews 'seen<=4' '/^	*renews = 1;/d; s/^	*refreshes = 1;/& renews = 1;/' \
			"gets renew before the window says so" $policies
		bad renewed 'seen<=4' "$(inside setter){s/renews = 0/skip/; s/atomic { refreshes = 0/renews = 0; &/}" \
			"the window says that gets do not renew while they do" $policies
		bad grace 'seen<=4' '/^	*!refreshing;/d' "the window says so while a get may still renew" $refreshes
		bad lower 'seen<=4' "$(inside setter){/empty_all();/d}" \
			"a copy with an earlier deadline stays in the window then" $refreshes
		bad dead 'seen<=4' "$dead" "a closed window does not keep an odd clock" $closed
		also dead '(copy==seen)' "$dead" "a closed window does not keep an odd clock: a copy of two values" $empty
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
	grep "^$1 " "$here/functions" >"$out/$1.functions" || echo "$1 - -" >"$out/$1.functions"
	while read -r row; do
		# shellcheck disable=SC2086 # words, split on purpose
		"$here/review.sh" --check $row >"$log" 2>&1
		row=${row#* }
		result $? "$1: what it copies of ${row%% *} is unchanged since the model's review" "$log"
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
	for test in "$here"/*.litmus; do
		reviewed "$(basename "$test" .litmus)"
	done
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
	entry | request | queue | fill | follow | window | litmus)
		model=$suite
		"$suite"
		;;
	reviewed) all_reviewed ;;
	*)
		echo "run.sh: no such model: $suite" >&2
		exit 1
		;;
	esac
done
[ $kept = 0 ] || echo "# $kept outcomes are from the cache: nothing they depend on has changed"
finish
