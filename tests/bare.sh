#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# bare.sh [RELEASE [COMMAND...]] - run commands as a new user would: in a new root directory of a
# release of Debian (bookworm) in which nothing but make and git is installed, on a new clone of the last
# commit, without a cache. Without a COMMAND: "make run" and "make test". It finds install steps that
# are missing, or that print something, because this machine's packages are not used. First it prints
# the size of the packages that building needs, and before each command the time.
#
# The COMMAND "ordinary" makes the root directory one of a machine that boots by itself: with an image
# of a kernel and its modules, DKMS, and a user alice. Each other COMMAND is one word for a shell.
#
# Needs root. The root directory is removed at the end; with KEEP=DIRECTORY it is made there and stays.
# The exit status is that of the first command that fails.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/environment.sh
. "$tests/environment.sh"
release=${1:-bookworm}
[ $# = 0 ] || shift
# An ordinary machine has this, and a new root directory lacks it.
ordinary='DEBIAN_FRONTEND=noninteractive apt-get install -y -q linux-image-amd64 dkms >/dev/null && useradd --create-home alice'

fail() {
	echo "bare.sh: $1" >&2
	exit 1
}

# sources - print this machine's sources of that release, as lines of sources.list; of a release that it
# does not have, the main one of its mirror. The key ring is part of the new root directory.
sources() {
	# shellcheck disable=SC2016 # apt-get expands it
	apt-get indextargets --format '$(LABEL) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		awk -v release="$release" '
			$1 == "Debian" && mirror == "" { mirror = $2 }
			$3 ~ "^" release { print "deb", $2, $3, $4; found = 1 }
			END { if (!found && mirror != "") print "deb", mirror, release, "main" }' | sort -u
}

# make_root - make a small root directory, with this machine's proxy settings of apt.
make_root() {
	mkdir -p "$root"
	sources >"$work/sources"
	[ -s "$work/sources" ] || fail "apt knows no mirror of Debian here"
	# The package lists of unstable are often older than their Valid-Until date allows.
	mmdebstrap --variant=minbase --include=make,git,ca-certificates \
		--aptopt='Acquire::Check-Valid-Until "false"' "$release" "$root" - <"$work/sources" >"$work/log" 2>&1 || {
		tail -n 20 "$work/log" >&2
		fail "cannot make a root directory of Debian $release"
	}
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	apt-config dump --no-empty Acquire |
		grep -i proxy >"$root/etc/apt/apt.conf.d/99mirror" || true
}

# enter COMMAND - run a command in the clone in the root directory. It has its own mount and
# process namespaces, so mounts and processes that it leaves behind end with it.
enter() {
	export root
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child sh -ec '
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount -t sysfs sysfs "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM="${TERM:-dumb}" \
			chroot "$root" sh -c "cd /root/hashbelt && $1"' sh "$1" </dev/null
}

# packages - print the size of the packages that building needs, on a new Debian. The README names them.
packages() {
	sed -n '/^On a real machine/,/:$/p' "$top/README.md" | tr -cs 'a-z0-9-' '\n' |
		grep -xE 'make|gcc|lib.*-dev' | xargs echo linux-headers-amd64 >"$work/packages"
	enter "apt-get update -q >&2; apt-get install --assume-no $(cat "$work/packages") 2>&1 || true" \
		2>"$work/log" | grep -E '^(Need to get|After this operation)'
}

# shellcheck disable=SC2317 # called by the trap
cleanup() {
	rm -rf "$work"
	[ "${KEEP-}" ] || rm -rf --one-file-system "$root"
}

[ "$(id -u)" = 0 ] || fail "only root can make and use a root directory"
[ $# -gt 0 ] || set -- "make run" "make test"
"$tests/need.sh" mmdebstrap git
work=$(mktemp -d)
root=${KEEP:-$top/.cache/bare-$release}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
rm -rf --one-file-system "$root"
make_root
# By a bundle: git would not clone that of another user.
git -C "$top" bundle create -q "$work/bundle" HEAD
git -c advice.detachedHead=false clone -q "$work/bundle" "$root/root/hashbelt"
packages
for command; do
	echo "-- $(date +%T) $command, on a bare Debian $release" >&2
	[ "$command" != ordinary ] || command=$ordinary
	enter "$command"
done
echo "-- $(date +%T) the end" >&2
