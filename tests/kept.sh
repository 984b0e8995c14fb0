# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# kept.sh - sourced first by scripts that make a directory of Debian's packages once, and keep it in the
# cache. Sets here, the directory of the script, and tests and top.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
tests=$(cd "$here/.." && pwd)
# shellcheck disable=SC2034 # for the script
top=$(cd "$tests/.." && pwd)
cache='' work='' kept=''

fail() {
	echo "${0##*/}: $1" >&2
	exit 1
}

# mirror - print the address of this machine's mirror of Debian.
mirror() {
	# shellcheck disable=SC2016 # apt-get expands it
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian //p' | head -n 1
}

# release - print the name of the release of Debian that this machine has: "sid" where that is unstable, whose
# files name the release that it will be.
release() {
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# shellcheck disable=SC2016 # apt-get expands it
	known=$(apt-get indextargets --format ' $(LABEL) $(CODENAME) ' 'Created-By: Packages')
	case $known in
	*" Debian $codename "*) echo "$codename" ;;
	*" Debian sid "*) echo sid ;;
	*) fail "the package lists of apt have no Debian ${codename:-of the name in /etc/os-release}" ;;
	esac
}

# shellcheck disable=SC2317 # called by the trap
cleanup() {
	[ -z "$work" ] || rm -rf --one-file-system "$work"
}

# make_kept NAME WHAT FUNCTION - make the directory in the cache. A rename makes that atomic. Removes those
# of other versions of the script that no clone has used for a month.
make_kept() {
	work=$cache/work-$1
	cleanup
	mkdir "$work"
	# Not on the left of ||, where the shell would go on after a failure.
	set +e
	(set -e; "$3") >"$cache/log-$1" 2>&1
	status=$?
	set -e
	[ $status = 0 ] || {
		tail -n 20 "$cache/log-$1" >&2
		fail "cannot make $2"
	}
	find "$cache" -mindepth 1 -maxdepth 1 -type d \
		-name "$1-[0-9a-f]*" -mtime +30 -exec rm -rf --one-file-system {} +
	mv "$work" "$kept"
	work=
}

# keep CACHE NAME WHAT FUNCTION - set kept to the directory NAME of that cache. FUNCTION makes it once in
# $work, and again when the script has changed. Child processes do not inherit the lock.
keep() {
	cache=$("$tests/cache.sh" "$1")
	kept=$cache/$2-$(sha256sum <"$here/${0##*/}" | cut -c 1-16)
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	exec 9>"$cache/lock-$2"
	flock 9
	[ -d "$kept" ] || make_kept "$2" "$3" "$4" 9>&-
	touch "$kept"
	exec 9>&-
}

# extract SUITE PACKAGES DIRECTORY [OPTION]... - unpack packages of Debian, and what they depend on, and install
# none: no server is started.
extract() {
	suite=$1 packages=$2 directory=$3
	shift 3
	"$tests/need.sh" mmdebstrap
	printf '%s\n' "deb $(mirror) $suite main" "deb-src $(mirror) $suite main" |
		mmdebstrap --variant=extract --include="$packages" \
			--aptopt='APT::Install-Recommends "false"' \
			--aptopt='Acquire::Check-Valid-Until "false"' \
			"$@" "$suite" "$directory" -
}

# gather - put the programs of the present directory where a guest, which has a /bin of its own, finds them.
gather() {
	# Packages of Debian 13 and newer have their files in /usr only.
	for directory in lib lib64; do
		[ -e $directory ] || ln -s usr/$directory $directory
	done
	[ ! -d lib/x86_64-linux-gnu ] ||
		ln -sf ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 lib64/ld-linux-x86-64.so.2
	mkdir -p usr/bin
	for programs in bin sbin usr/sbin; do
		[ ! -d $programs ] || find $programs -mindepth 1 -exec mv -f -t usr/bin {} +
		rm -rf "$programs"
	done
}

# shorten - remove from the present directory what no test needs of Python.
shorten() {
	rm -rf usr/lib/python3.*/test usr/lib/python3.*/idlelib usr/lib/python3.*/lib2to3
}

# compile ROOT - compile what Python imports: an emulated processor would take seconds for that. A time in a
# file's name does not matter then. ROOT has no shell.
compile() (
	cd "$1"
	# shellcheck disable=SC2046 # names without spaces
	chroot . /usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash \
		$(printf '/%s\n' usr/lib/python3 usr/lib/python3.*) >/dev/null
)
