#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# payload.sh PAYLOAD DIRECTORY - make the payload of "make shell" from that of other guests: the module, hbctl,
# bash with completion, jq, the manual pages, docs/tutorial.md and the program that it shows, compiled. A small
# payload boots sooner.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
payload=$1
shell=$2

"$tests/need.sh" bash binutils jq mandoc
rm -rf "$shell"
mkdir -p "$shell/docs" "$shell/host/boot" "$shell/host/usr/lib/udev/rules.d"
cp "$payload/hbctl" "$payload/hbctl-manage.so" "$payload/visit" "$shell"
strip --strip-debug -o "$shell/hashbelt.ko" "$payload/hashbelt.ko"
cp -r "$payload/terminfo" "$shell"
cp "$top/README.md" "$top/docs/tutorial.md" "$shell/docs"
cp "$tests/shell/begin.sh" "$tests/shell/bashrc" "$tests/shell/man" "$shell"
"$tests/vm/copy.sh" --libraries "$shell/host" "$payload/hbctl"
"$tests/vm/copy.sh" "$shell/host" /usr/bin/bash /usr/bin/jq /usr/bin/mandoc
for page in "$top"/docs/*.[1-8] "$top"/docs/man3/*.3; do
	section=$shell/host/usr/share/man/man${page##*.}
	mkdir -p "$section"
	cp "$page" "$section"
done
# Files that "hbctl doctor" reads.
cp "$top/tools/60-hashbelt.rules" "$shell/host/usr/lib/udev/rules.d"
cp "$("$tests/vm/kernel.sh" headers)/.config" "$shell/host/boot/config-$("$tests/vm/kernel.sh" version)"
