#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# nft-expired-intervals.sh - whether the expired elements of a full nft set make room for new ones.
#
# Two sets have room for four elements, which live for a second. Two seconds later nft(8) lists neither
# set with an element. The set of addresses takes another one. The set of intervals (flags interval) takes
# none, with "Too many open files in system" (ENFILE), until it is flushed: there the expired elements
# count. nftables 1.0.6 of Debian 12 on the kernel of this machine, Linux 6.18 when this was written.
#
# Needs apt, dpkg-deb, and unshare(1) with the right to make a network namespace. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
mkdir -p lists/partial root
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main" >sources
cat >conf <<END
Dir::Etc::SourceList "$work/sources";
Dir::Etc::SourceParts "-";
Dir::State::Lists "$work/lists";
Dir::Cache "$work";
APT::Sandbox::User "root";
END
for words in update 'download nftables libnftables1 libnftnl11 libmnl0 libjansson4 libxtables12 libgmp10 libedit2 libbsd0 libmd0 libtinfo6'; do
	# shellcheck disable=SC2086 # words
	APT_CONFIG=conf apt-get -qq $words >log 2>&1 || {
		cat log
		exit 1
	}
done
for package in *.deb; do
	dpkg-deb -x "$package" root
done

cat >try <<'END'
nft() {
	LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu:root/lib/x86_64-linux-gnu root/usr/sbin/nft "$@"
}
nft --version
nft add table t
nft add set t addresses '{ type ipv4_addr; flags timeout; timeout 1s; size 4; }'
nft add set t intervals '{ type ipv4_addr; flags interval,timeout; timeout 1s; size 4; }'
for i in 1 2 3 4; do
	nft add element t addresses "{ 10.0.$i.1 }"
	nft add element t intervals "{ 10.0.$i.0/24 }"
done
sleep 2
for name in addresses intervals; do
	echo "found $name: $(nft list set t $name | grep -c elements) lines of elements after two seconds"
	element=10.0.9.1
	[ $name = addresses ] || element=10.0.9.0/24
	added=$(nft add element t $name "{ $element }" 2>&1 | head -n 1)
	echo "found $name: add: ${added:-taken}"
done
nft flush set t intervals
added=$(nft add element t intervals '{ 10.0.9.0/24 }' 2>&1 | head -n 1)
echo "found intervals: add after a flush: ${added:-taken}"
END
uname -r
unshare -rn sh -u ./try >output 2>&1 || true
cat output
grep '^found' output >found || true
cat >wanted <<'END'
found addresses: 0 lines of elements after two seconds
found addresses: add: taken
found intervals: 0 lines of elements after two seconds
found intervals: add: Error: Could not process rule: Too many open files in system
found intervals: add after a flush: taken
END
diff wanted found || {
	echo "nft-expired-intervals.sh: the behaviour has changed" >&2
	exit 1
}
