#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# container.t - belts in the namespaces and cgroups of which containers are made. Runs in a guest.
#
# The container is a root directory with hbctl, a user namespace in which an unprivileged user is
# root, and a memory cgroup.
# shellcheck disable=SC2317 # functions that "is" calls
set -u

# shellcheck source=tests/hbctl/tap.sh
. /payload/tests/hbctl/tap.sh

box=$temporary/box
group=/sys/fs/cgroup/box

# in_box COMMAND - run a command in the root directory.
in_box() {
	chroot "$box" sh -c "$1"
}

# as_root_of_nobody COMMAND - run a command as root of a user namespace that the user nobody makes.
as_root_of_nobody() {
	su nobody -c "unshare -r sh -c '$1'"
}

# owner BELT - print uid and gid of a belt's owner.
owner() {
	hbctl info --json "$1" | sed 's/.*"uid":\([0-9]*\),"gid":\([0-9]*\).*/\1:\2/'
}

# charged - print the memory that the cgroup is charged with for the kernel's objects.
charged() {
	sed -n 's/^slab //p' $group/memory.stat
}

# fill - put two megabytes into a belt, in the cgroup.
fill() {
	# shellcheck disable=SC2016 # that shell expands it
	sh -c 'echo $$ >"$0/cgroup.procs"
		i=0
		while [ $i -lt 20 ]; do
			head -c 100000 /dev/zero | hbctl -b shared put key$i || exit
			i=$((i + 1))
		done' "$group"
}

mkdir -p "$box/bin" "$box/dev" $group
chmod 755 "$temporary"
cp /bin/busybox /payload/hbctl /payload/hbctl-manage.so "$box/bin"
ln -s busybox "$box/bin/sh"
cp -a /lib /lib64 /usr "$box"
chmod 666 /dev/hashbelt
hbctl create roots --ttl 1h
hbctl create shared --ttl 1h
hbctl put key value
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
nothing='there is no device /dev/hashbelt*'
none="there is no belt 'roots', or you have no right to it*"

is "a container without the device cannot use hashbelt" 3 '' "$nothing" in_box 'hbctl get key'
: >"$box/dev/hashbelt"
mount --bind /dev/hashbelt "$box/dev/hashbelt"
like "a container with the device reads the belts of the machine" 0 value '' in_box 'hbctl get key'
is "it writes to them" 0 '' '' in_box 'hbctl put key inside'
like "the machine reads what it wrote" 0 inside '' hbctl get key
umount "$box/dev/hashbelt"
is "root of a user namespace can create a belt" 0 '' '' as_root_of_nobody 'hbctl create inside --ttl 1h'
is "the belt belongs to the user outside" 0 65534:65534 '' owner inside
like "in the user namespace it belongs to uid 0" 0 '*"uid":0,*' '' \
	as_root_of_nobody 'hbctl info --json inside'
is "root of a user namespace has no right to root's belts" 3 '' "$none" \
	as_root_of_nobody 'hbctl -b roots get key'
is "it cannot destroy them" 3 '' "$none" as_root_of_nobody 'hbctl destroy roots'
before=$(charged)
is "a container with a memory limit can put" 0 '' '' fill
after=$(charged)
kmem=$(sed -n 's/^kernel //p' $group/memory.stat)
result "2,000,000 bytes of values are charged to the memory cgroup of the container that puts them" \
	"$([ "$kmem" -ge 2000000 ] || echo "slab $before, then $after, kernel $kmem")"
hbctl destroy shared
result "the charge ends when the belt is destroyed" "$(at_last \
	sh -c "[ \$(sed -n 's/^kernel //p' $group/memory.stat) -lt 1000000 ]" || cat $group/memory.stat)"
hbctl destroy roots
hbctl destroy inside
hbctl clear
chmod 600 /dev/hashbelt
finish
