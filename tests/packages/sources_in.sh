#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# sources_in.sh RELEASE - run sources.t in a root directory of that release of Debian, on a copy of the
# sources, and leave the Debian packages in .cache/build/deb-RELEASE. Prints its TAP. Runs as root.
set -u

# shellcheck source=tests/packages/root_copy.sh
. "$(dirname "$0")/root_copy.sh"
left=$top/.cache/build/deb-$1

open_root "$1" build && mkdir "$root/hashbelt" &&
	tar -C "$top" -c --exclude=./.git --exclude=./.cache . | tar -C "$root/hashbelt" -x || exit 1
enter 'cd /hashbelt && tests/packages/sources.t'
status=$?
rm -rf "$left"
cp -r "$root/hashbelt/.cache/build/deb" "$left" || exit 1
# The checks are those of sources.t.
# shellcheck disable=SC2034 # for tap.sh
finished=yes
exit $status
