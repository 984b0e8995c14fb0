#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vmlinux.sh VMLINUZ FILE - write the file to boot: the kernel that VMLINUZ, of a PC, has in it. A guest
# that decompresses it on an emulated processor takes twice as long to boot. Where the compression is
# not known here, or VMLINUZ has no header of a PC, FILE is a copy of VMLINUZ, which boots too.
#
# The header is described in the kernel's Documentation, x86/boot.rst.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
image=$1
file=$2

fail() {
	rm -f "$file"
	echo "vmlinux.sh: $1" >&2
	exit 1
}

# word OFFSET BYTES - print a number in the image.
word() {
	od -An -j "$(($1))" -N "$2" -t "u$2" "$image" | tr -d ' '
}

# bytes OFFSET BYTES - print bytes in the image as hexadecimal digits.
bytes() {
	od -An -v -j "$(($1))" -N "$2" -t x1 "$image" | tr -d ' \n'
}

# locate - sets offset and length of the compressed kernel. It is at an offset (at 0x248) after the
# setup sectors (their number is at 0x1f1, and there is one more). Its length is at 0x24c.
locate() {
	size=$(wc -c <"$image")
	offset='' length=''
	[ "$size" -ge 592 ] && [ "$(bytes 0x202 4)" = 48647253 ] || return 0 # "HdrS"
	offset=$((($(word 0x1f1 1) + 1) * 512 + $(word 0x248 4)))
	length=$(word 0x24c 4)
	[ $((offset + length)) -le "$size" ] || fail "$image is cut short: it has $size bytes"
}

# unpack TRAILER PACKAGE COMMAND... - decompress the kernel by a command of the package. The last
# TRAILER bytes are no part of the archive.
unpack() {
	length=$((length - $1)) package=$2
	shift 2
	"$here/../need.sh" "$package" || fail "$package is needed to decompress $image"
	tail -c "+$((offset + 1))" "$image" | head -c "$length" | "$@" >"$file" ||
		fail "$1 cannot decompress the kernel in $image"
}

[ -s "$image" ] || fail "no kernel, or an empty one: $image"
locate
# The kernel's build appends the size of the kernel to all archives but those of gzip, which have it.
case ${length:+$(bytes "$offset" 6)} in
1f8b*) unpack 0 gzip gzip -dc ;;
fd377a585a00) unpack 4 xz-utils xz -dc ;;
28b52ffd*) unpack 4 zstd zstd -dcq ;;
02214c18*) unpack 4 lz4 lz4 -dcq ;;
*) cp "$image" "$file" ;;
esac
[ -s "$file" ] || fail "the kernel in $image is empty"
