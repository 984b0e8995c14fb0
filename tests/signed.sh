#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# signed.sh - print the commits since the last tag that lack a line Signed-off-by; without a tag, as
# in a shallow clone, only the last commit is looked at. Merges need none. A tree without commits, as
# one from an archive, has nothing to complain about. Runs in the source tree.
set -u

range=$(git describe --tags --abbrev=0 2>/dev/null) && range=$range..HEAD || range=-1
git log "$range" --no-merges \
	--format='%h %s%x00%(trailers:key=Signed-off-by,valueonly,separator=%x20)' 2>/dev/null |
	tr '\0' '\t' | awk -F '\t' '$NF == "" { print "commit " $1 ": lacks Signed-off-by (git commit -s)" }'
