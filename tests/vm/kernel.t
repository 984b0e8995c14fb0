#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.t - vmlinux.sh unpacks the image of a kernel by what its header says, and kernel.sh gets it from
# the package that has it: small files take the place of kernels, and scripts that of the package manager.
# shellcheck disable=SC2016 # for those scripts to expand
set -u
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
tests=$(cd "$here/.." && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"
"$tests/need.sh" gzip xz-utils zstd lz4 || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
head -c 50000 "$tests/Makefile" >kernel

# number BYTES VALUE - print a number, the lowest byte first.
number() {
	left=$1 value=$2
	while [ "$left" -gt 0 ]; do
		# shellcheck disable=SC2059 # an octal number
		printf "\\$(printf %o $((value % 256)))"
		value=$((value / 256)) left=$((left - 1))
	done
}

zeros() {
	head -c "$1" /dev/zero
}

# image TRAILER COMMAND... - make the image of a PC as the kernel's build does: two setup sectors more
# than one, code of 64 bytes, and the kernel as COMMAND compresses it, with TRAILER bytes.
image() {
	{
		trailer=$1
		shift
		"$@" <kernel >archive
		[ "$trailer" = 0 ] || number "$trailer" "$(wc -c <kernel)" >>archive
		{
			zeros 497 && number 1 2 && zeros 16 && printf HdrS && zeros 66 &&
				number 4 64 && number 4 "$(wc -c <archive)" && zeros 944 && zeros 64
			cat archive
			zeros 100
		} >vmlinuz
	} 2>log
}

# unpacks NAME TRAILER COMMAND... - an image that is compressed in this way becomes the kernel.
unpacks() {
	name=$1
	shift
	image "$@" && rm -f vmlinux && "$here/vmlinux.sh" vmlinuz vmlinux >>log 2>&1 &&
		cmp vmlinux kernel >>log 2>&1
	result $? "vmlinux.sh unpacks a kernel that $name has compressed" log
}

# copied DESCRIPTION - an image stays as it is.
copied() {
	rm -f vmlinux
	"$here/vmlinux.sh" vmlinuz vmlinux >log 2>&1 && cmp vmlinux vmlinuz >>log 2>&1
	result $? "$1" log
}

# refused DESCRIPTION MESSAGE - there is no kernel in the image, and one line of stderr says why.
refused() {
	rm -f vmlinux
	! "$here/vmlinux.sh" vmlinuz vmlinux >log 2>&1 && grep -q "^vmlinux.sh: $2" log && [ ! -e vmlinux ]
	result $? "$1" log
}

unpacks gzip 0 gzip -9
unpacks xz 4 xz --check=crc32
unpacks zstd 4 zstd -q
unpacks lz4 4 lz4 -l -c -q
image 4 cat
copied "vmlinux.sh copies an image whose compression it does not know"
head -c 3000 kernel >vmlinuz
copied "vmlinux.sh copies a file without the header of a PC"
image 4 zstd -q
head -c 4000 vmlinuz >part && mv part vmlinuz
refused "vmlinux.sh refuses an image that is cut short" "vmlinuz is cut short"
image 4 sh -c 'zstd -q | head -c 5000'
refused "vmlinux.sh refuses an archive that is damaged" "zstd cannot decompress the kernel in vmlinuz"
: >vmlinuz
refused "vmlinux.sh refuses an empty file" "no kernel, or an empty one"

# The package manager of a machine whose list has the package of the first word in the file "listed", and
# whose mirror has that of the word in "there". "apt-get update" makes the first the second.
mkdir bin
script() {
	{
		echo '#!/bin/sh'
		cat
	} >"bin/$1"
	chmod +x "bin/$1"
}
script apt-get <<'END'
for package; do :; done
case " $* " in
*" download "*)
	echo download "$package" >>"$WORK/calls"
	grep -qxF "$package" "$WORK/there" || {
		echo "E: Failed to fetch $package" >&2
		exit 100
	}
	cp "$WORK/package.deb" "$package.deb"
	;;
*" update "*)
	echo update >>"$WORK/calls"
	[ ! -e "$WORK/offline" ] || {
		echo "E: Could not resolve the mirror" >&2
		exit 100
	}
	cp "$WORK/there" "$WORK/listed"
	;;
*" install "*)
	echo install "$package" >>"$WORK/calls"
	sed -n 's/^linux-[a-z]*-//p' "$WORK/there" >"$WORK/installed"
	;;
esac
END
script apt-cache <<'END'
for package; do :; done
grep -xF "$package" "$WORK/listed" || {
	echo "E: No packages found" >&2
	exit 100
}
END
script dpkg-query <<'END'
case $* in
*Status*) echo installed ;;
*) echo "linux-base-amd64 (= 1), linux-headers-$(cat "$WORK/installed") (= 1)" ;;
esac
END

# archive FOLDER RELEASE - put the image into a package.
archive() {
	rm -rf tree
	mkdir -p tree/DEBIAN "tree/$1"
	cp vmlinuz "tree/$1/vmlinuz${2:+-$2}"
	printf '%s\n' 'Package: linux' 'Version: 1' 'Architecture: all' 'Maintainer: a <a@b>' 'Description: a' \
		>tree/DEBIAN/control
	dpkg-deb --root-owner-group -b tree package.deb >/dev/null
}

# gets DESCRIPTION RELEASE CALLS MESSAGE - kernel.sh makes these calls of the package manager, one word in
# each, and then has the image of the RELEASE, or says the MESSAGE. The headers are not there.
gets() {
	rm -rf cache calls
	WORK=$work CACHE=$work/cache PATH=$work/bin:$PATH "$here/kernel.sh" image >log 2>&1
	printf '%s\n' "$3" | tr ' +' '\n ' >expected
	{
		diff expected calls && grep -F "$4" log >/dev/null &&
			[ "$(grep -c '^kernel.sh:' log)" = 1 ] &&
			if [ "$2" ]; then cmp "cache/vm/vmlinux-$2" kernel; else ! ls cache/vm/vmlinux-*; fi
	} >difference 2>&1
	passed=$?
	cat log >>difference
	result $passed "$1" difference
}

# mirror LISTED THERE - say which package the list has, and which the mirror.
mirror() {
	echo "$1" >listed
	echo "$2" >there
}

image 4 zstd -q
echo 9.1-amd64 >installed
archive boot 9.1-amd64
mirror linux-image-9.1-amd64 linux-image-9.1-amd64
gets "kernel.sh takes the image from linux-image" 9.1-amd64 "download+linux-image-9.1-amd64" "headers"
archive usr/lib/modules/9.1-amd64 ''
mirror linux-binary-9.1-amd64 linux-binary-9.1-amd64
gets "kernel.sh takes the image from linux-binary where there is one" 9.1-amd64 \
	"download+linux-binary-9.1-amd64" "headers"
mirror linux-image-9.1-amd64 linux-image-9.2-amd64
gets "kernel.sh installs newer headers if the mirror has lost the image of the old ones" 9.2-amd64 \
	"download+linux-image-9.1-amd64 update download+linux-image-9.1-amd64 install+linux-headers-amd64 download+linux-image-9.2-amd64" \
	"headers"
echo 9.1-amd64 >installed
touch offline
mirror linux-image-9.1-amd64 ''
gets "kernel.sh says why it cannot download" '' "download+linux-image-9.1-amd64 update" \
	"E: Could not resolve the mirror"
rm offline
image 4 sh -c 'zstd -q | head -c 5000'
archive boot 9.1-amd64
mirror linux-image-9.1-amd64 linux-image-9.1-amd64
gets "kernel.sh downloads an image that it cannot unpack only once" '' "download+linux-image-9.1-amd64" \
	"vmlinux.sh: zstd cannot decompress"
finish
