#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# cache.sh NAME - print the directory that keeps NAME for all clones of this machine, and
# make it.
#
# What depends only on packages of the distribution and on files that its key covers is kept
# there by content: kernels, root directories of other suites, ccache's objects. A fresh
# clone finds them. The variable CACHE moves the directory; its default is
# ${XDG_CACHE_HOME:-$HOME/.cache}/hashbelt. CACHE=none keeps everything in the clone, in
# .cache/cold, which tests/run.sh empties first: that shows what a new machine has to do.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
case ${CACHE-} in
none) root=$top/.cache/cold ;;
'') root=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/hashbelt ;;
/*) root=$CACHE ;;
*)
	echo "cache.sh: CACHE is neither 'none' nor an absolute path: $CACHE" >&2
	exit 1
	;;
esac
mkdir -p "$root/$1"
cd "$root/$1" && pwd
