#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# install.t - the commands of README.md and docs/ that build, install and load hashbelt,
# or boot a virtual machine. Runs in the source tree, as root.
#
# The commands run in a copy of this machine: an overlay of its root directory, which is discarded
# at the end. The clone and the cache are those of this machine, so builds are kept. The tools are
# built in a directory of their own, because the suite store builds them at the same time. In place
# of the running kernel, KVER names the guests' kernel. Programs that change a kernel are replaced
# by ones that record their arguments, and the copy has no right to load modules. A guest with the
# installed files then runs the recorded commands, and the documented ones that need the device.
set -u

# shellcheck source=tests/overlay.sh
. "$(dirname "$0")/../overlay.sh"

tab=$(printf '\t')
payload=$temporary/payload

# enter COMMAND - run a command in the copy, in the clone.
enter() {
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME="${HOME:-/root}" ${CACHE+CACHE="$CACHE"} \
		${XDG_CACHE_HOME+XDG_CACHE_HOME="$XDG_CACHE_HOME"} KVER="$release" place="$place" \
		chroot "$root" setpriv --bounding-set=-sys_module sh -c "cd '$top' && $1"
}

# record COMMAND - let the guest run a command.
record() {
	printf '%s\t%s\n' "$place" "$1" >>"$root/record"
}

# make_recorder PROGRAM - replace a program of the copy by one that records its arguments.
make_recorder() {
	cat >"$root/usr/local/sbin/$1" <<'END'
#!/bin/sh
printf '%s\t%s\n' "$place" "${0##*/} $*" >>/record
END
	chmod +x "$root/usr/local/sbin/$1"
}

make_copy() {
	make_overlay / || return
	for directory in /dev /proc /sys "$top" "$(dirname "$("$tests/cache.sh" vm)")"; do
		mkdir -p "$root$directory" && mount --rbind "$directory" "$root$directory" || return
	done
	mkdir -p "$top/.cache/build/tools" "$top/.cache/install" &&
		mount --bind "$top/.cache/install" "$root$top/.cache/build/tools" || return
	for program in insmod rmmod modprobe udevadm; do
		make_recorder $program
	done
	modules=$root/lib/modules/$release
	rm -rf "$modules/extra" "$modules/updates"
	rm -rf "$root/var/lib/dkms/hashbelt" "$root"/usr/src/hashbelt-*
	# A machine that boots by itself has the modules of its kernel, hundreds of MB.
	mkdir -p "$modules/kernel" && truncate -s 2G "$modules/kernel/large" || return
	enter "userdel --force alice; groupdel --force alice; groupdel --force hashbelt" \
		>"$temporary/users" 2>&1
	enter "useradd --shell /bin/sh alice && tests/need.sh udev kmod"
}

# prompt COMMAND - run a command that says what it builds and then shows a prompt, and leave at the prompt.
prompt() {
	mkfifo "$temporary/keys"
	enter "$1" <"$temporary/keys" &
	exec 9>"$temporary/keys"
	until grep -q 'Leave with exit' "$temporary/printed" || ! kill -0 $! 2>/dev/null; do
		sleep 0.2
	done
	echo exit >&9
	exec 9>&-
	wait $! && grep -qx 'Building hbctl \.\.\.' "$temporary/printed"
}

# carry_out COMMAND - run a command that a document shows.
carry_out() {
	case $1 in
	.cache/build/payload/*) record "$1" ;;
	"make shell") prompt "$1" ;;
	*) enter "$1" </dev/null ;;
	esac
}

# written - print how many KB the commands have written outside of the clone and the cache.
written() {
	du -sk "$copy/upper" | cut -f 1
}

# check COMMAND - run a command that a document shows, and print what is wrong. The time and the
# disk space that it takes are a remark.
check() {
	began=$(date +%s) before=$(written)
	carry_out "$1" >"$temporary/printed" 2>&1
	status=$?
	echo "# $1: $(($(date +%s) - began)) s, $(($(written) - before)) KB installed" >&3
	[ $status = 0 ] || {
		echo "expected status 0, found $status:"
		tail -n 20 "$temporary/printed"
	}
}

# carry_out_all FILE - run the commands that a document shows.
carry_out_all() {
	awk -v kinds=machine -f "$tests/docs/shown.awk" "$top/$1" >"$temporary/shown"
	while IFS="$tab" read -r _ line command <&7; do
		place="$1:$line: $command"
		case $command in
		*"udevadm trigger"*)
			# A machine on which the module was loaded before the group was made.
			record "chown 0:0 /dev/hashbelt && chmod 600 /dev/hashbelt"
			;;
		esac
		result "$place" "$(check "$command")"
	done 7<"$temporary/shown"
}

# check_access - let the guest check the effects of the commands of README.md.
check_access() {
	place="README.md: the device belongs to the group hashbelt, with mode 0660"
	record 'udevadm settle; stat -c "%G %a" /dev/hashbelt | grep -x "hashbelt 660"'
	place="README.md: a member of the group can create a belt and put an entry"
	record 'su alice -c "hbctl create own --ttl 1m && hbctl -b own put key value"'
	place="README.md: the module can be removed"
	record 'rmmod hashbelt'
}

# with_dkms - install again, with DKMS, and print what is wrong. DKMS replaces no module of the
# same version.
with_dkms() {
	install=$(awk -v kinds=machine -f "$tests/docs/shown.awk" README.md |
		sed -n "s/.*$tab\(make install.*\)/\1/p")
	rm -rf "$root/lib/modules/$release/extra"
	{
		enter "tests/need.sh dkms && $install" &&
			enter "dkms status hashbelt" | grep "$release.*: installed" &&
			enter "modinfo -k $release hashbelt"
	} >"$temporary/printed" 2>&1 || tail -n 20 "$temporary/printed"
}

# fill_payload - put what the commands have installed and built into the guest's root directory. The
# modules that belong to the kernel do not fit into a guest's memory, and no command needs them.
fill_payload() {
	module=$top/.cache/build/module-$release
	mkdir -p "$payload/root$module" "$payload/root/usr/lib/udev" "$payload/root/lib/modules" \
		"$payload/root/etc" &&
		cp "$top/.cache/build/payload/bench" "$tests/docs/replay.sh" "$root/record" \
			"$payload" &&
		cp "$module/hashbelt.ko" "$payload/root$module" &&
		cp -a "$root/etc/passwd" "$root/etc/group" "$payload/root/etc" &&
		cp -a "$root/usr/lib/udev/rules.d" "$payload/root/usr/lib/udev" &&
		tar -C "$root/lib/modules" -c --exclude="$release/kernel" "$release" |
		tar -C "$payload/root/lib/modules" -x &&
		enter "tests/vm/copy.sh /installed /usr/local/bin/hbctl /usr/bin/udevadm" &&
		cp -a "$root/installed/." "$payload/root"
}

# report - make a check of each command that the guest has run.
report() {
	awk -v file="$temporary/printed." '
		/^[^|]/ { number++; print; next }
		{ print substr($0, 2) >(file number) }' "$temporary/replayed" >"$temporary/statuses"
	number=0
	while IFS="$tab" read -r status place command <&7; do
		number=$((number + 1))
		result "$place, in a guest: $command" "$([ "$status" = 0 ] ||
			echo "expected status 0, found $status:" \
				"$(cat "$temporary/printed.$number" 2>/dev/null)")"
	done 7<"$temporary/statuses"
}

"$tests/need.sh" git make gcc libncurses-dev libinih-dev libsmartcols-dev || exit 1
release=$("$tests/vm/kernel.sh" version) || exit 1
exec 3>&1
place=''
mkdir "$payload"
make_copy || exit 1
cd "$top" || exit 1
for document in $(git ls-files '*.md'); do
	carry_out_all "$document"
	[ "$document" != README.md ] || check_access
done
fill_payload || exit 1
"$tests/vm/run.sh" "$payload" sh ./replay.sh "$top" >"$temporary/replayed" 2>"$temporary/err"
status=$?
result "the guest that runs the recorded commands ends in good order" \
	"$([ $status = 0 ] || { echo "status $status"; cat "$temporary/err"; })"
report
result "make install installs the module with DKMS where DKMS is present" "$(with_dkms)"
finish
