#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# in_tree.sh KERNEL PATCHES - put the module into the source of a kernel, in the directory KERNEL, as
# drivers/misc/hashbelt: write a series of patches into the directory PATCHES, and apply it, by git where the source
# is a repository. git's user signs the patches off. in-tree/ has the files that only a driver in a kernel needs.
# shellcheck disable=SC2016 # text for make, and scripts for awk
set -eu
export LC_ALL=C
unset CDPATH

fail() {
	echo "in_tree.sh: $1" >&2
	exit 1
}

top=$(cd "$(dirname "$0")/.." && pwd)
[ $# = 2 ] || fail "usage: in_tree.sh KERNEL PATCHES"
[ -e "$1/drivers/misc/Kconfig" ] || fail "not the source of a kernel: ${1:-(none)}: say KERNEL=DIRECTORY"
[ ! -e "$1/drivers/misc/hashbelt" ] || fail "$1 has drivers/misc/hashbelt: remove it first"
kernel=$(cd "$1" && pwd)
mkdir -p "$2"
patches=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
driver=drivers/misc/hashbelt

# git_in DIRECTORY ARGUMENT... - run git there, with the user of the present directory.
git_in() {
	directory=$1
	shift
	GIT_COMMITTER_NAME=$name GIT_COMMITTER_EMAIL=$email GIT_AUTHOR_NAME=$name GIT_AUTHOR_EMAIL=$email \
		git -C "$directory" "$@"
}

# commit SUBJECT - commit all; the body is on stdin, and wrapped as the kernel's documents want it.
commit() {
	git add -A
	{
		printf '%s\n\n' "$1"
		fmt -w 72
	} | git_in . commit -q -s -F -
}

# add FILE... - put files of the module into the driver. The interface for user space stands elsewhere in a kernel.
add() {
	for file; do
		mkdir -p "$driver/$(dirname "$file")"
		sed 's|#include "hashbelt.h"|#include <linux/hashbelt.h>|' "$top/$file" >"$driver/$file"
	done
}

# edit FILE SCRIPT - edit a file by awk, and fail if that changes nothing.
edit() {
	awk "$2" "$1" >.edited
	! cmp -s .edited "$1" || fail "cannot edit $1: it has another form than expected"
	cat .edited >"$1"
	rm .edited
}

# folders - print the folders of the module in the order of Kbuild, which is bottom-up.
folders() {
	sed -n 's|^# \([a-z/]*\)/: .*|\1|p' "$top/Kbuild"
}

# purpose FOLDER - print what Kbuild says of a folder, in one line.
purpose() {
	awk -v head="# $1/: " '
		index($0, head) == 1 { found = substr($0, length(head) + 1); next }
		found != "" && /^# / { found = found " " substr($0, 3); next }
		found != "" { print found; exit }
	' "$top/Kbuild"
}

# makefile - print the driver's Makefile: Kbuild without what it checks outside of a kernel.
makefile() {
	head -n 1 "$top/Kbuild"
	sed -n '/^# Objects stand/,$p' "$top/Kbuild" | in_place HASHBELT
	printf '\nobj-$(CONFIG_HASHBELT_KUNIT_TEST) += tests/kunit/\n'
}

# in_place OPTION - change a makefile for a kernel, whose objects may be in another directory, and whose option OPTION
# tells whether to build them.
in_place() {
	sed -e "s/^obj-m :=/obj-\$(CONFIG_$1) +=/" \
		-e "s|\$(src)/\.\./\.\.|\$(srctree)/$driver|g" -e "s|\$(src)|\$(srctree)/$driver|g"
}

# maintainers - print the entry of MAINTAINERS.
maintainers() {
	printf '%s\n' 'HASHBELT EXPIRING CACHE' "$(sed -n 's/^Maintainer: /M:	/p' "$top/debian/control")" \
		'S:	Maintained' 'F:	Documentation/misc-devices/hashbelt.rst' "F:	$driver/" \
		'F:	include/uapi/linux/hashbelt.h' ''
}

{ name=$(git config user.name) && email=$(git config user.email); } ||
	fail "git knows no user to sign the patches off: git config --global user.name NAME, and user.email"
cd "$work"
mkdir -p drivers/misc Documentation/misc-devices include/uapi/linux
for file in drivers/misc/Kconfig drivers/misc/Makefile MAINTAINERS Documentation/misc-devices/index.rst; do
	cp "$kernel/$file" $file
done
git init -q
: | commit base
base=$(git rev-parse HEAD)

cp "$top/hashbelt.h" include/uapi/linux
maintainers >.entry
# Titles follow an empty line, and stand in the order of the alphabet, with exceptions.
edit MAINTAINERS '
	last == "" && /^[0-9A-Z][^a-z:]/ {
		if (title ~ /^H/ && title < "HASHBELT" && $0 > "HASHBELT")
			while ((getline line <".entry") > 0)
				print line
		title = $0
	}
	{ print; last = $0 }'
rm .entry
commit 'hashbelt: add the interface of an expiring cache' <<.
hashbelt is an expiring cache that processes share through /dev/hashbelt. A process that keeps such a cache in its own
memory shares it with no other; a daemon costs a switch to another task for each access, and its memory is charged to
itself, whichever cgroup has filled it. Add the header that user space sees.
.
for folder in $(folders); do
	# shellcheck disable=SC2046 # names without spaces
	add $(cd "$top" && ls "$folder"/*.[ch] "$folder"/*.mk 2>/dev/null)
	{
		echo "Add a folder of the driver, which is built once all folders are there. This one is for"
		purpose "$folder"
	} | commit "hashbelt: add $folder"
done
# shellcheck disable=SC2046 # names without spaces
add $(cd "$top" && ls ./hashbelt_*.[ch])
makefile >$driver/Makefile
cp "$top/tools/in-tree/Kconfig" $driver
edit drivers/misc/Kconfig '/^endmenu/ { print "source \"drivers/misc/hashbelt/Kconfig\"" } { print }'
edit drivers/misc/Makefile '{ print } END { print "obj-y\t\t\t\t+= hashbelt/" }'
commit 'hashbelt: add the driver' <<.
Add the device, the functions for other drivers, and the parameters, and let the kernel's build know the driver. Built
in, it makes the belt "default" at boot, and takes its parameters from the command line.
.
# shellcheck disable=SC2046 # names without spaces
add $(cd "$top" && ls tests/kunit/*.[ch])
in_place HASHBELT_KUNIT_TEST <"$top/tests/kunit/Kbuild" >$driver/tests/kunit/Makefile
cp "$top/tools/in-tree/kunitconfig" $driver/.kunitconfig
commit 'hashbelt: add KUnit tests' <<.
Test all parts but the device, which needs user space. The tests include sources of the driver, to reach functions that
are static there, so a kernel has either the driver or its tests.
.
cp "$top/tools/in-tree/hashbelt.rst" Documentation/misc-devices
edit Documentation/misc-devices/index.rst '
	!done && /^   [a-z0-9]/ && $1 > "hashbelt" { print "   hashbelt"; done = 1 } { print }'
commit 'Documentation: misc-devices: describe hashbelt' <<.
Say what the driver is for and how it gets its parameters, and include the comments on its interfaces.
.
# The directory may have other files of its user.
rm -f "$patches"/[0-9]*hashbelt*.patch
git format-patch -q -o "$patches" "$base"
if [ -e "$kernel/.git" ]; then
	git_in "$kernel" am -q "$patches"/[0-9]*hashbelt*.patch
else
	cat "$patches"/[0-9]*hashbelt*.patch | patch -d "$kernel" -p1 -s
fi
echo "$patches"
