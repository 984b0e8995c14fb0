#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# make.t - make, in trees whose path or whose user's environment is unusual: it builds, installs and
# removes its own files and no others, or it says in one sentence why it cannot. Runs in the source
# tree. A Makefile takes the place of the kernel's build, and writes down what it is given; one test
# builds for the stock kernel.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

newline='
'
# Without quotes, this is the files "my" and "files", a command and a variable.
odd="my files & it's \"\$odd\""
release=6.1.0-none
kernel=$temporary/kernel

# make_kernel - make a kernel's build folder. Two builds in one folder at a time are an error.
make_kernel() {
	mkdir "$kernel"
	cat >"$kernel/Makefile" <<-'MAKE'
		.RECIPEPREFIX = >
		modules:
		>@mkdir $(M)/busy
		>@sleep 0.2
		>@echo "jobs: $(findstring --jobserver,$(MAKEFLAGS))" >$(M)/given
		>@echo "O: $(filter command,$(origin O) $(origin VERSION)) $(origin KBUILD_OUTPUT)" >>$(M)/given
		>@echo "W: $(W)" >>$(M)/given
		>@echo module >$(M)/hashbelt.ko
		>@rmdir $(M)/busy
		modules_install:
		>@mkdir -p $(INSTALL_MOD_PATH)/lib/modules/6.1.0-none/extra
		>@cp $(M)/hashbelt.ko $(INSTALL_MOD_PATH)/lib/modules/6.1.0-none/extra
	MAKE
}

# copy_to TREE - copy the sources to a new directory.
copy_to() {
	mkdir -p "$1" && git -C "$top" ls-files -z --cached --others --exclude-standard |
		tar -C "$top" -c --ignore-failed-read --null -T - 2>/dev/null | tar -C "$1" -x
}

# surround DIRECTORY - make files whose paths are what a shell makes of the path of a tree below it.
surround() {
	for directory in "$1" "$1/${odd% \"*}" "$1/$odd" "$1/$odd/hb"; do
		mkdir -p "$directory/my" "$directory/files"
		for file in a.c a.h Kbuild .cache/build/a; do
			mkdir -p "$directory/my/.cache/build"
			echo foreign | tee "$directory/my/$file" >"$directory/files/${file##*/}"
		done
	done
}

# list DIRECTORY - print the files below it with a checksum, but for those that make may write.
list() {
	(cd "$1" && find . -path '*/hb/.cache' -prune -o -path './DESTDIR*' -prune -o -type f -print0 |
		LC_ALL=C sort -z | xargs -0 md5sum)
}

# changed - print the files around the tree, and its sources, that have changed since the first call.
changed() {
	[ -e "$temporary/before" ] || list "$around" >"$temporary/before"
	list "$around" | diff "$temporary/before" -
}

# call_make ARGUMENT... - run make; if locked is set, no file of that tree can be written meanwhile.
call_make() {
	if [ "$locked" ]; then
		[ "$(id -u)" = 0 ] && map='' || map=--map-root-user
		# shellcheck disable=SC2016,SC2086 # for that shell to expand; a word or none
		unshare $map --mount sh -c 'mount --bind "$1" "$1" &&
			mount -o remount,bind,ro "$1" && shift && exec make "$@"' sh "$locked" "$@"
	else
		make "$@"
	fi
}

# make_in TREE ARGUMENT... - make for the other kernel; prints the end of the output if it fails.
make_in() {
	in=$1
	shift
	call_make -s -C "$in" KVER="$release" KDIR="$kernel" LIBPQ= CFLAGS=-O0 "$@" >"$temporary/log" 2>&1 || {
		echo "make $*: status $?"
		tail -n 20 "$temporary/log"
	}
}

# refused TREE SENTENCE ARGUMENT... - print what is wrong, unless make ends with a message of one line
# that has the sentence, and writes nothing.
refused() {
	refusing=$1 sentence=$2
	shift 2
	[ "$(make_in "$refusing" "$@")" ] || echo "make $* in $refusing: expected an error"
	grep -v '^make.*: \*\*\* ' "$temporary/log" >"$temporary/said"
	if ! grep -qF "$sentence" "$temporary/said" || [ "$(wc -l <"$temporary/said")" != 1 ]; then
		echo "make $*: expected one line with: $sentence"
		cat "$temporary/said"
	fi
	[ ! -e "$refusing/.cache" ] || echo "make $* in $refusing: wrote before it failed"
}

# kbuild_refuses CHARACTER - print what is wrong, unless a tree with it in its path is refused.
kbuild_refuses() {
	mkdir "$temporary/a$1b" "$temporary/a"
	echo foreign >"$temporary/a/a.c"
	mv "$plain" "$temporary/a$1b/hb"
	for goals in all install "-j8 install all" load run check test; do
		# shellcheck disable=SC2086 # goals, split on purpose
		refused "$temporary/a$1b/hb" 'the build cannot take the path' \
			DESTDIR="$temporary/root" $goals
	done
	make_in "$temporary/a$1b/hb" clean
	[ "$(ls "$temporary/a")" = a.c ] || echo "a/a.c: expected that it stays"
	rm -rf "$temporary/a"
	mv "$temporary/a$1b/hb" "$plain"
	rmdir "$temporary/a$1b"
}

newline_refused() {
	mv "$plain" "$temporary/a${newline}b"
	for goal in all tools install uninstall deb clean; do
		refused "$temporary/a${newline}b" 'the path of the source tree has the end of a line' \
			DESTDIR="$temporary/root" $goal
	done
	mv "$temporary/a${newline}b" "$plain"
}

# has FILE... - print those that are not below the directory of the last installation.
has() {
	for file; do
		[ -s "$destination/$file" ] || echo "expected the file $file"
	done
}

# unreadable - print the installed files that another user cannot read.
unreadable() {
	find "$destination" \( -type f ! -perm -444 -o -type d ! -perm -555 \) -printf 'mode %m: %p\n'
}

# given FOLDER - print what is wrong with what the kernel's build was given.
given() {
	printf 'jobs: --jobserver\nO:  undefined\nW: 1\n' | diff - "$1/given"
}

# with_tools - install and uninstall what needs no kernel, in the tree with the odd path.
with_tools() {
	make_in "$tree" install-tools install-dkms DESTDIR="$given_destination"
	has usr/local/bin/hbctl usr/local/lib/libhashbelt.so usr/local/lib/pkgconfig/hashbelt.pc \
		usr/src/hashbelt-0.2.0/belt/belt.h usr/src/hashbelt-0.2.0/belt/ground/compat.mk
	mkdir -p "$destination/usr/local/bin"
	echo other >"$destination/usr/local/bin/other"
	make_in "$tree" uninstall DESTDIR="$given_destination"
	find "$destination" -type f ! -name other
	has usr/local/bin/other
	make_in "$tree" clean
	find "$tree/.cache" ! -type d 2>/dev/null
	changed
}

with_deb() {
	make_in "$tree" deb
	ls "$tree"/.cache/build/deb/hbctl_*.deb >/dev/null 2>&1 || echo "expected hbctl_*.deb"
	make_in "$tree" clean
	changed
}

# with_stock_kernel - build in another directory, for the stock kernel, and install.
with_stock_kernel() {
	release=$stock kernel=$("$tests/vm/kernel.sh" headers)
	make_in "$tree" -j8 all install O="$temporary/out-stock" DESTDIR="$given_destination" \
		CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES=
	# In extra, or with newer kernels in updates.
	has "$(cd "$destination" && echo "lib/modules/$release"/*/hashbelt.ko*)" usr/local/bin/hbctl
	make_in "$tree" uninstall O="$temporary/out-stock" DESTDIR="$given_destination"
	find "$destination" -name 'hashbelt*'
	echo foreign >"$temporary/out-stock/a.c"
	make_in "$tree" clean O="$temporary/out-stock"
	[ "$(ls -A "$temporary/out-stock")" = a.c ] || ls -A "$temporary/out-stock"
	find "$tree/.cache" ! -type d
	changed
}

# with_environment - build and install in a new tree, in an environment that has settings of others.
with_environment() (
	umask 077
	mkdir -p "$temporary/elsewhere/tests" "$temporary/elsewhere/tools" "$temporary/elsewhere/belt"
	export CDPATH="$temporary/elsewhere" KBUILD_OUTPUT="$temporary/elsewhere"
	make_in "$plain" -j8 all install W=1 DESTDIR="$given_destination"
	has "lib/modules/$release/extra/hashbelt.ko" usr/local/bin/hbctl
	unreadable
	given "$plain/.cache/build/module-$release"
	[ -z "$(find "$temporary/elsewhere" -type f)" ] || find "$temporary/elsewhere" -type f
)

# with_read_only_tree - make in a tree that cannot be written says so, and builds elsewhere.
with_read_only_tree() {
	locked=$plain
	for goals in all tools deb "-j8 install"; do
		# shellcheck disable=SC2086 # goals, split on purpose
		refused "$plain" 'is read-only: build elsewhere, with O=DIRECTORY' $goals
	done
	make_in "$plain" -j8 all W=1 O="$temporary/out"
	given "$temporary/out/module-$release"
	[ -x "$temporary/out/tools/hbctl" ] || echo "expected hbctl"
}

# dry_run - make -n writes nothing, and runs no script that would.
dry_run() {
	make_in "$plain" -n all install DESTDIR="$temporary/root"
	ls -d "$plain/.cache" "$temporary/root" 2>/dev/null
}

# foreign_directory - module.sh does not build in a directory that has files of others.
foreign_directory() {
	mkdir "$temporary/foreign"
	echo foreign >"$temporary/foreign/a.c"
	"$plain/tests/module.sh" "$kernel" "$temporary/foreign" >"$temporary/log" 2>&1 &&
		echo "expected an error"
	grep -q 'has other files' "$temporary/log" || cat "$temporary/log"
	[ "$(ls "$temporary/foreign")" = a.c ] || ls "$temporary/foreign"
}

# environment - print what tests see of an environment that has settings of others. A clone of another
# user, and a file system without programs, need the rights of root, or those of a user namespace.
environment() (
	umask 077
	mkdir -p "$temporary/a b"
	[ "$(id -u)" = 0 ] && map='' || map=--map-root-user
	chown -R nobody "$plain/.git" "$plain" 2>/dev/null
	# shellcheck disable=SC2016,SC2086 # for that shell to expand; a word or none
	env -u HOME CDPATH=/ TMPDIR="$1" LANG=de_DE.UTF-8 LANGUAGE=de KBUILD_OUTPUT=/ GIT_CONFIG_GLOBAL=/dev/null \
		unshare $map --mount sh -c '
		[ "$2" != /mnt ] || mount -t tmpfs -o noexec tmpfs /mnt
		top=$1
		. "$top/tests/environment.sh"
		echo "${CDPATH-none} ${KBUILD_OUTPUT-none} $LC_ALL ${LANGUAGE-none} $HOME"
		umask
		echo "$TMPDIR"
		git -C "$top" ls-files README.md' sh "$plain" "$1" 2>&1
	chown -R "$(id -u)" "$plain"
)

# settings TMPDIR - print what is wrong with the environment of the tests.
settings() {
	printf '%s\n' "none none C none $(getent passwd "$(id -u)" | cut -d : -f 6)" 0022 /tmp README.md |
		sed "s|^/tmp\$|$2|" >"$temporary/wanted"
	environment "$1" | diff "$temporary/wanted" -
}

"$tests/need.sh" git make gcc libncurses-dev libinih-dev libsmartcols-dev || exit 1
stock=$("$tests/vm/kernel.sh" version) || exit 1
# A user's make has none of the settings of the make that runs the tests.
unset MAKEFLAGS MFLAGS MAKELEVEL VERSION
locked=''
plain=$temporary/hb
around=$temporary/around
tree=$around/$odd/hb
destination=$around/DESTDIR/$odd
# make replaces "$$" by "$".
given_destination=$(echo "$destination" | sed 's/\$/$$/g')
make_kernel
copy_to "$plain"
surround "$around"
cp -r "$plain" "$around/$odd"
changed

# shellcheck disable=SC1003 # a backslash
for character in ' ' '&' "'" '"' '$' ';' '%' ',' '#' ':' '\'; do
	result "make refuses a path with $character in one sentence, and touches no file" \
		"$(kbuild_refuses "$character")"
done
result "make refuses a path with the end of a line in one sentence, and writes nothing" \
	"$(newline_refused)"
git -C "$plain" init -q && git -C "$plain" add README.md
result "tests have the same environment for all users, and read a clone of another user" \
	"$(settings "$temporary" "$temporary")"
result "tests do not use a TMPDIR whose path has a blank" "$(settings "$temporary/a b" /tmp)"
result "tests do not use a TMPDIR on which no program can run" "$(settings /mnt /tmp)"
rm -rf "$plain/.git"
result "make -n writes nothing" "$(dry_run)"
result "module.sh refuses a directory that has files of others" "$(foreign_directory)"
result "make in a tree that is read-only says so, and builds in O=DIRECTORY" "$(with_read_only_tree)"
result "make -j8 all install, with CDPATH, KBUILD_OUTPUT and umask 077, installs readable files and gives \
the kernel's build its jobs and no directory" "$(with_environment)"
result "make install-tools and uninstall leave all other files as they are, in a path with special \
characters" "$(with_tools)"
result "make deb leaves all other files as they are, in a path with special characters" "$(with_deb)"
result "make O=DIRECTORY builds, installs and removes all for the stock kernel, in a path with special \
characters" "$(with_stock_kernel)"
result "no file around the trees has changed" "$(changed)"
finish
