# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# overlay.sh - sourced first by tests that change a root directory: they change a copy, which is
# discarded at the end. Runs the test, with its arguments, in a mount namespace of its own: the mounts
# end with that. Needs root. Sources tap.sh, and sets tests and top.

unset CDPATH
tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC2034 # for the test
top=$(cd "$tests/.." && pwd)

# Only the shell outside of the namespace removes the directory, and by rmdir: what is mounted there
# may have the clone in it.
if [ -z "${OVERLAY_COPY-}" ]; then
	[ "$(id -u)" = 0 ] || {
		echo "Bail out! only root can use a root directory"
		exit 1
	}
	copy=$(mktemp -d)
	OVERLAY_COPY=$copy unshare --mount "$0" "$@"
	status=$?
	rmdir "$copy"
	exit $status
fi
copy=$OVERLAY_COPY
root=$copy/root
unset OVERLAY_COPY

# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

# make_overlay DIRECTORY - mount a copy of that directory at $root. What is written to it is in memory. With
# xino it is one device, as setfiles needs it; with metacopy, another owner or label copies no data.
make_overlay() {
	mount -t tmpfs tmpfs "$copy" && mkdir "$copy/upper" "$copy/work" "$root" &&
		mount -t overlay overlay "$root" \
			-o "lowerdir=$1,upperdir=$copy/upper,workdir=$copy/work,xino=on,metacopy=on"
}
