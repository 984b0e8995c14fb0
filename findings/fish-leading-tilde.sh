#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# fish-leading-tilde.sh - how fish quotes the words that a script for completion offers.
#
# fish quotes blanks, dollars and stars of the words that "complete -a" has, but not a ~ at the beginning: the
# word ~root comes to the command line as it is, and enter makes /root of it. So a script that offers names
# from outside leaves those with a ~ in front out, unless the user has typed a quote. fish 3.6.0 of Debian 12.
#
# Needs apt and dpkg-deb. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -q -o APT::Sandbox::User=root fish=3.6.0-3.1+deb12u1 libpcre2-32-0 >log 2>&1 || {
	cat log
	exit 1
}
for package in *.deb; do
	dpkg-deb -x "$package" root
done
cat >offer.fish <<'END'
complete -c program -f -a "(printf '%s\n' '~root' 'a b' '\$HOME' '*')"
complete --escape -C 'program '
END
export HOME="$work" LD_LIBRARY_PATH="$work/root/usr/lib/x86_64-linux-gnu"
fish=$work/root/usr/bin/fish
"$fish" --version
"$fish" --no-config offer.fish | LC_ALL=C sort >found
echo "the words ~root, 'a b', \$HOME and * come to the command line as:"
cat found
# shellcheck disable=SC2016 # as they are
printf '%s\n' '\$HOME' '\*' 'a\ b' '~root' >expected
cmp expected found
