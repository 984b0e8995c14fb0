#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# signed.t - signed.sh prints each commit that has to be signed and is not.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"
"$tests/need.sh" git || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_CONFIG_NOSYSTEM=1 HOME="$work" GIT_CEILING_DIRECTORIES="$work"

# commit MESSAGE - make a commit without a change.
commit() {
	git commit -q --allow-empty -m "$1"
}

# finds SUBJECTS DESCRIPTION - signed.sh prints the commits with these subjects, one in each line.
finds() {
	printf '%s' "$1" >expected
	"$tests/signed.sh" 2>&1 | sed 's/^commit [0-9a-f]* //; s/: lacks .*//' >found
	diff expected found >difference
	result $? "$2" difference
}

mkdir "$work/tree"
cd "$work/tree" || exit 1
finds '' "a tree without git is not complained about"
git init -q -b main .
finds '' "a tree without commits is not complained about"
commit "old: change"
finds 'old: change
' "without a tag, a last commit without Signed-off-by is printed"
commit "new: change

Signed-off-by: A <a@b>"
finds '' "without a tag, only the last commit is looked at"
git tag 1.0
finds '' "a tag on the last commit leaves nothing to look at"
commit "first: mention Signed-off-by: in the subject

The text says Signed-off-by: and more text.

Not in a last paragraph."
commit "second: change

Signed-off-by: A <a@b>"
finds 'first: mention Signed-off-by: in the subject
' "each commit since the tag needs the line, in its last paragraph"
git branch -q side HEAD~1
git reset -q --hard 1.0
commit "third: change

Signed-off-by: A <a@b>"
git branch -q -f side
git reset -q --hard 1.0
commit "fourth: change

Signed-off-by: A <a@b>"
git merge -q --no-ff -m "Merge side" side
finds '' "a merge needs no line"
commit "fifth: change"
git clone -q --depth 1 --no-tags "file://$work/tree" ../shallow && cd ../shallow || exit 1
finds 'fifth: change
' "in a shallow clone the last commit is looked at"
finish
