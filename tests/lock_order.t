#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# lock_order.t - lock_order.py prints each rule of a lock that is wrong, and no other.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/belt" "$work/device" "$work/docs" "$work/tests"
cd "$work" && cp "$tests/lock_order.py" "$tests/result.py" tests || exit 1

# start - write a module with two locks, of which all is right.
start() {
	cat >belt/pair.h <<'END'
struct hb_pair {
	/** @outer: protects all below. Inside it: pair->inner, memory. */
	struct mutex outer;
	/** @inner: protects a word. Inside it: none. */
	spinlock_t inner;
};
END
	printf 'mutex_init(&pair->outer);\nspin_lock_init(&pair->inner);\n' >belt/pair.c
	# shellcheck disable=SC2016 # the backquotes are Markdown
	printf '## Lock order\n```text\npair->outer\nmemory\npair->inner\n```\n' >docs/design.md
	printf '# a comment\npair->outer memory\npair->outer pair->inner\n' >tests/locks
	printf '# lockdep inside &pair->outer &pair->inner\n# lockdep inside &pair->outer fs_reclaim\n' >output
}

# finds LINE DESCRIPTION [FILE EXPRESSION] - with the FILE edited, lock_order.py prints the LINE, and
# nothing more. Restores the module.
finds() {
	[ $# = 2 ] || sed -i "$4" "$3"
	printf '%b' "$1" >expected
	tests/lock_order.py >found 2>&1
	diff expected found >difference
	result $? "$2" difference
	start
}

# fails LINE DESCRIPTION EXPRESSION - with the output of a guest edited, a check fails with the LINE.
fails() {
	sed -i "$3" output
	! tests/lock_order.py output >found 2>&1 && grep -qxF "#   $1" found
	result $? "$2" found
	start
}

start
finds '' 'nothing is printed where the rules are those of the picture and of the record'
finds 'belt/pair.h:5: pair->inner has no rule that ends with "Inside it: ..."\n' \
	'a lock without a rule is printed' belt/pair.h 's/ Inside it: none\.//'
finds 'tests/locks: lockdep has seen memory inside pair->outer, which no rule allows\n' \
	'an order that lockdep has seen and no rule allows is printed' belt/pair.h 's/, memory//'
finds 'tests/locks: no run has exercised the rule of pair->outer that allows memory\n' \
	'a rule that no run has exercised is printed' tests/locks '/memory/d'
finds 'docs/design.md, Lock order: pair->inner is missing, or is no lock\n' \
	'a lock that the picture lacks is printed' docs/design.md '/inner/d'
finds 'docs/design.md, Lock order: pair->outer does not stand above pair->inner\n' \
	'a lock that stands too low in the picture is printed' docs/design.md 's/^pair->outer/&  pair->inner/; /^pair->inner$/d'
fails 'pair->outer inside pair->inner' 'a run fails that sees an order which no rule allows' \
	's/&pair->outer &pair->inner/\&pair->inner \&pair->outer/'
# shellcheck disable=SC2016 # the last line, for sed
fails 'pair->inner' 'a run fails in which interrupts take a lock whose rule does not say so' \
	'$a # lockdep lock -.-. &pair->inner'
sed -i '/memory/d' tests/locks
fails 'add pair->outer memory' 'a run fails that sees an order which the record lacks' ''
finish
