#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# tmpfiles-relatime.sh - whether systemd-tmpfiles keeps a file of a cache that is read all the time.
#
# A cache of files is to lose what nobody has used for a while, by a line "e /cache - - - 5s" in tmpfiles.d. A file counts
# as unused if its times of access, change and modification are all older, so an engineer expects one that is read each
# second to stay. But file systems are mounted with relatime by default: a read notes its time if that of the last read
# is a day old, or older than the last write. So each file is gone 5 s after the first read behind its last write,
# whether others read it or not; with an age of an hour likewise. An age of more than a day, or a mount with strictatime,
# works as expected. systemd 252 of Debian 12, and 262.
#
# Needs root, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
cat >"$work/try" <<'END'
#!/bin/busybox sh
# In a namespace of its own: a file that is read each second, and one that is not, for both ways to mount.
busybox mount -t proc proc /proc
echo "found: $(systemd-tmpfiles --version | busybox sed -n 's/^\(systemd [0-9]*\).*/\1/p')"
for option in relatime strictatime; do
	busybox mkdir /$option
	busybox mount -t tmpfs -o $option tmpfs /$option
	echo value >/$option/read
	echo value >/$option/left
	echo "e /$option - - - 5s" >>/cache.conf
done
for second in 1 2 3 4 5 6 7; do
	busybox cat /relatime/read /strictatime/read >/dev/null
	busybox sleep 1
done
busybox cat /relatime/read /strictatime/read >/dev/null
systemd-tmpfiles --clean /cache.conf
for file in /relatime/left /relatime/read /strictatime/left /strictatime/read; do
	[ -e $file ] && echo "found: $file is there" || echo "found: $file is gone"
done
END
chmod +x "$work/try"
for release in bookworm=252.39-1~deb12u2 sid=262.1-1; do
	root=$work/${release%%=*}
	mmdebstrap --quiet --variant=extract --include="busybox-static,systemd=${release#*=}" \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' "${release%%=*}" "$root" \
		"$mirror" 2>"$work/log" || {
		cat "$work/log" >&2
		exit 1
	}
	for folder in bin sbin lib lib64; do
		[ -e "$root/$folder" ] || ln -s usr/$folder "$root/$folder"
	done
	mkdir -p "$root/proc"
	cp "$work/try" "$root"
	unshare -m env -i PATH=/usr/bin:/bin:/usr/sbin chroot "$root" /try | sed -n 's/^found: //p'
done >"$work/found"
cat "$work/found"
for version in 252 262; do
	cat <<END
systemd $version
/relatime/left is gone
/relatime/read is gone
/strictatime/left is gone
/strictatime/read is there
END
done | diff - "$work/found"
