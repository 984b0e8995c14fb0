#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# nft-add-present.sh - how long an element of an nft set lives that is added again.
#
# A program renews a ban of 60 s by adding it again every 12 s, which helps on no kernel: Linux 6.1 leaves a present
# element as it is, and Linux 7.2 changes its time only if the new one differs from the one that it was given. So 60 s
# again renew nothing, and 61 s do. There an add without a time makes the ban permanent, or gives it the default time of
# the set if that differs. nft(8) prints nothing in each case. To renew a ban on all kernels, delete and add the element
# in one transaction. User-Mode Linux 6.1.176 with nftables 1.0.6 of Debian 12, and 7.2.7 with 1.1.7; Linux 6.18 treats
# 60 and 61 s as 7.2 does.
#
# Needs root, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
cat >"$work/init" <<'END'
#!/bin/busybox sh
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
busybox mount -t proc proc /proc
modules=/usr/lib/uml/modules/$(busybox uname -r)
for module in libcrc32c nfnetlink nf_tables; do
	file=$(busybox find "$modules" -name "$module.ko")
	[ -z "$file" ] || busybox insmod "$file"
done
echo "#found: Linux $(busybox uname -r), $(nft --version)"
nft add table bridge t
nft add set bridge t addresses '{ type ipv4_addr; flags timeout; }'
nft add set bridge t default '{ type ipv4_addr; timeout 60s; }'

# look SET ELEMENT - print whether an element has more time left than the 48 s of one that was not renewed.
look() {
	nft get element bridge t "$1" "{ $2 }" | busybox awk '{
		if (match($0, /expires [0-9hms]*/)) {
			time = substr($0, RSTART + 8, RLENGTH - 8)
			sub(/[0-9]*ms$/, "", time)
			state = time ~ /m/ || time + 0 > 49 ? "renewed" : "not renewed"
		}
	} END { print state == "" ? "permanent" : state }'
}
nft 'add element bridge t addresses { 10.0.0.1 timeout 60s, 10.0.0.2 timeout 60s, 10.0.0.3 timeout 60s, 10.0.0.4 timeout 60s }'
nft 'add element bridge t default { 10.0.0.1 }'
busybox sleep 12
nft 'add element bridge t addresses { 10.0.0.1 timeout 60s, 10.0.0.2 timeout 61s, 10.0.0.3 }'
nft 'add element bridge t default { 10.0.0.1 }'
nft 'delete element bridge t addresses { 10.0.0.4 }; add element bridge t addresses { 10.0.0.4 timeout 60s }'
echo "found: addresses, added again for 60 s: $(look addresses 10.0.0.1)"
echo "found: addresses, added again for 61 s: $(look addresses 10.0.0.2)"
echo "found: addresses, added again without a time: $(look addresses 10.0.0.3)"
echo "found: addresses, deleted and added for 60 s: $(look addresses 10.0.0.4)"
echo "found: a set with a default time of 60 s, added again without a time: $(look default 10.0.0.1)"
busybox poweroff -f
END
chmod +x "$work/init"
for release in bookworm=6.1um4+b13,nftables=1.0.6-2+deb12u2 sid=7.2um1,nftables=1.1.7-3; do
	root=$work/${release%%=*}
	mmdebstrap --quiet --variant=extract --include="busybox-static,user-mode-linux=${release#*=}" \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' "${release%%=*}" "$root" \
		"$mirror" 2>"$work/log" || {
		cat "$work/log" >&2
		exit 1
	}
	mkdir -p "$root/guest/proc" "$root/guest/dev" "$root/proc"
	for folder in usr bin sbin lib lib64; do
		[ ! -d "$root/$folder" ] || cp -al "$root/$folder" "$root/guest"
		for parent in "$root" "$root/guest"; do
			[ -e "$parent/$folder" ] || ln -s usr/$folder "$parent/$folder"
		done
	done
	cp "$work/init" "$root/guest"
	# shellcheck disable=SC2016 # for the inner shell
	timeout 100 unshare -m sh -c 'mount --bind /proc "$0/proc"
exec env -i HOME=/tmp TMPDIR=/tmp PATH=/usr/bin:/usr/sbin chroot "$0" /usr/bin/linux.uml mem=256M rootfstype=hostfs \
	rootflags=/guest rw init=/init con=null con0=fd:0,fd:1 quiet' "$root" </dev/null 2>&1 | tr -d '\r' |
		sed -n "s/^found: /${release%%=*}: /p; s/^#found: /# /p"
done >"$work/found"
sed -i "s/^bookworm: /Linux 6.1: /; s/^sid: /Linux 7.2: /" "$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
Linux 6.1: addresses, added again for 60 s: not renewed
Linux 6.1: addresses, added again for 61 s: not renewed
Linux 6.1: addresses, added again without a time: not renewed
Linux 6.1: addresses, deleted and added for 60 s: renewed
Linux 6.1: a set with a default time of 60 s, added again without a time: not renewed
Linux 7.2: addresses, added again for 60 s: not renewed
Linux 7.2: addresses, added again for 61 s: renewed
Linux 7.2: addresses, added again without a time: permanent
Linux 7.2: addresses, deleted and added for 60 s: renewed
Linux 7.2: a set with a default time of 60 s, added again without a time: not renewed
END
grep -v '^#' "$work/found" | diff "$work/expected" -
