#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh PROCESSOR VERB - get Debian's stock kernel for another processor, arm64 or s390x,
# and the compiler with which Debian builds it.
#
#   release       print its release, such as 6.1.0-56-cloud-arm64
#   compiler      print the path of a gcc for that processor
#   image         print the path of the image to boot
#   busybox       print the path of a statically linked busybox
#   console       print the path of the module for more consoles (s390x only)
#   module [--user] DIRECTORY [ARGUMENT]...
#                 build the module in DIRECTORY, and with --user the one that uses it;
#                 each ARGUMENT is for make
#
# The packages of the cross compilers conflict with gcc-multilib, which the tests need as
# well. So this script unpacks them, the headers and the image into the cache, and installs
# none of them. The compiler and the headers find their other parts (binutils, C library,
# kbuild) by links to this machine's. The first call downloads 55 MB, for s390x 80; later calls
# download nothing: to get a newer kernel of Debian, remove the cached directory.
unset CDPATH

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

# sources - print those of this machine's package sources that are Debian's.
sources() {
	# shellcheck disable=SC2016 # apt-get expands it
	apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) main #$(LABEL)' \
		'Created-By: Packages' 'Component: main' |
		sed -n 's/ #Debian\(-Security\)\{0,1\}$//p' | sort -u
}

# apt PROGRAM ARGUMENT... - run a program of apt with separate package lists: this machine's may
# not have the other architecture.
apt() {
	program=$1
	shift
	"$program" -q -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$work/lists" -o Dir::State::status=/dev/null \
		-o Dir::Cache="$work/cache" -o APT::Sandbox::User=root \
		-o Acquire::Languages=none -o APT::Architectures="$host,$processor" "$@"
}

# unpack PATTERN DIRECTORY [TAR-ARGUMENT]... - unpack the packages that match PATTERN.
unpack() {
	packages=$1
	there=$2
	shift 2
	mkdir -p "$there"
	for package in "$work"/packages/$packages; do
		dpkg-deb --fsys-tarfile "$package" | tar -x -C "$there" "$@"
	done
}

# requires PATTERN - print what matches the pattern in the names of the packages that the headers depend on.
requires() {
	apt apt-cache depends "linux-headers-$release:$processor" |
		sed -n "s/.*Depends: .*\($1\).*/\1/p" | head -n 1
}

# image_package - print the package with the image: in newer releases, linux-image only depends on it.
image_package() {
	for package in "linux-binary-$release" "linux-image-$release"; do
		[ -z "$(apt apt-cache show "$package:$processor" 2>/dev/null)" ] || break
	done
	echo "$package:$processor"
}

# download - download the packages. One package has the headers for all processors, another
# those for this one. The compiler is that with which Debian has built the kernel.
download() {
	mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/packages"
	sources >"$work/sources.list"
	apt apt-get update
	release=$(apt apt-cache depends "linux-headers-$flavour:$processor" |
		sed -n 's/.*Depends: linux-headers-\([^:]*\).*/\1/p')
	gcc=$(requires 'gcc-[0-9]*')
	set -- "$gcc-$triple" "cpp-${gcc#*-}-$triple" "libgcc-${gcc#*-}-dev-$processor-cross" \
		"linux-headers-${release%"-$flavour"}-common" "linux-headers-$release:$processor"
	set -- "$@" "$(image_package)" "busybox-static:$processor"
	(cd "$work/packages" && apt apt-get download "$@")
	echo "$release" >"$work/release"
	echo "$gcc" >"$work/gcc"
	requires 'linux-kbuild-[^:]*' >"$work/kbuild"
}

# compiler - unpack the compiler. Its programs look for other parts in ../TRIPLE.
compiler() {
	unpack '*gcc-[0-9]*' "$work/toolchain" --strip-components=2 \
		--exclude=./usr/share --exclude='*/lto*' --exclude='*/plugin' --exclude='*san*'
	unpack 'cpp-*' "$work/toolchain" --strip-components=2 --exclude=./usr/share
	ln -s "/usr/$triple" "$work/toolchain/$triple"
}

# headers - unpack the headers, and correct the absolute path in their Makefile.
headers() {
	unpack 'linux-headers-*' "$work/headers" ./usr/src
	ln -s /usr/lib "$work/headers/usr/lib"
	sed -i "s:/usr/src:$kept/headers/usr/src:" \
		"$work/headers/usr/src/linux-headers-$release/Makefile"
}

# guest - unpack image, the module for consoles and busybox. An image for arm64 or s390x is not compressed.
guest() {
	unpack 'linux-[ib]*' "$work" -O --wildcards './*/vmlinuz*' >"$work/image"
	[ ! "$console" ] || unpack 'linux-[ib]*' "$work" -O --wildcards "./*/$console.ko" >"$work/console"
	unpack 'busybox-*' "$work" -O --wildcards './*bin/busybox' >"$work/busybox"
	chmod 755 "$work/busybox"
}

assemble() {
	download
	compiler
	headers
	guest
	rm -r "$work/packages" "$work/lists" "$work/cache"
}

# module DIRECTORY [ARGUMENT]... - build the module without the caller's environment, and without
# debugging information, which takes time. ccache keeps warnings as well.
module() {
	directory=$1
	shift
	# shellcheck disable=SC2086 # one word or none
	exec env -i PATH="$kept/toolchain/bin:$PATH" LC_ALL=C \
		CCACHE_DIR="${CCACHE_DIR:-$cache/ccache}" CCACHE_BASEDIR="$directory" \
		DEBIAN_KERNEL_USE_CCACHE=yes "$tests/module.sh" $user \
		"$kept/headers/usr/src/linux-headers-$(cat "$kept/release")" "$directory" \
		DEB_BUILD_ARCH="$host" DEB_HOST_ARCH="$processor" DEB_HOST_GNU_TYPE="$triple" \
		CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES= "$@"
}

processor=${1-} console='' user=''
case $processor in
arm64) triple=aarch64-linux-gnu flavour=cloud-arm64 ;;
s390x) triple=s390x-linux-gnu flavour=s390x console=virtio_console ;;
*) fail "neither arm64 nor s390x: $processor" ;;
esac
verb=${2-}
case $verb$# in
release2 | compiler2 | image2 | busybox2) ;;
console2) [ "$console" ] || fail "$processor needs no module for its consoles" ;;
module[3-9])
	[ "$3" != --user ] || {
		user=--user
		shift
	}
	mkdir -p "$3"
	directory=$(cd "$3" && pwd)
	;;
*) fail "usage: kernel.sh PROCESSOR release|compiler|image|busybox|console|module DIRECTORY" ;;
esac

host=$(dpkg --print-architecture)
keep cross "$processor" "the kernel for $processor" assemble
gcc=$(cat "$kept/gcc")
"$tests/need.sh" "binutils-$triple" "libc6-dev-$processor-cross" "$(cat "$kept/kbuild")" "$gcc" libc6-dev make \
	ccache || exit 1

case $verb in
release) cat "$kept/release" ;;
compiler) echo "$kept/toolchain/bin/$triple-$gcc" ;;
image | busybox | console) echo "$kept/$verb" ;;
module)
	shift 3
	module "$directory" "$@"
	;;
esac
