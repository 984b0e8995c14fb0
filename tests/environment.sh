# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck disable=SC2154 # $top is the caller's
#
# environment.sh - sourced by the scripts that people call to run tests, after "top" is set: what the
# tests see of their user's settings is the same for all users. Exits if nothing can be built in the
# clone.

"$top/tests/build_path.sh" "$top/.cache" "clone to another directory" || exit 1
unset CDPATH KBUILD_OUTPUT KBUILD_EXTMOD_OUTPUT LANGUAGE
export LC_ALL=C
# Programs of the tests run as other users, too.
umask 022

# can_run DIRECTORY - true if tests can build in it, and if programs in it can run: where the file
# system has the option noexec, they cannot.
can_run() {
	"$top/tests/build_path.sh" "$1" 2>/dev/null && program=$(mktemp -p "$1" 2>/dev/null) || return
	printf '#!/bin/sh\n' >"$program" && chmod +x "$program" && "$program" 2>/dev/null
	runs=$?
	rm -f "$program"
	return $runs
}

for directory in "${TMPDIR:-/tmp}" /tmp /var/tmp; do
	can_run "$directory" && break
done
export TMPDIR="$directory"

# A user without HOME, as in a service of systemd.
: "${HOME:=$(getent passwd "$(id -u)" | cut -d : -f 6)}"
export HOME

# git does not read a clone of another user, unless it is told to.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="*"
