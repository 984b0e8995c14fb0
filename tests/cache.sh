#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# cache.sh NAME - make and print the directory that caches NAME for all clones on this machine.
#
# Results that depend only on Debian's packages and on files that their key covers are cached by
# content: kernels, root directories of other suites, ccache's objects. A new clone finds them.
# The variable CACHE moves the directory; its default is
# ${XDG_CACHE_HOME:-$HOME/.cache}/hashbelt. CACHE=none uses .cache/cold in the clone, which
# tests/run.sh empties first: so everything is built, as on a new machine.
set -eu
unset CDPATH

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
"$top/tests/build_path.sh" "$root" "say CACHE=DIRECTORY"
mkdir -p "$root/$1"
cd "$root/$1" && pwd
