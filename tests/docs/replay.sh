#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# replay.sh TOP - run the commands that install.t has recorded, in a guest. Its root directory gets
# the files that these commands need. TOP is the path of the clone.
#
# The file "record" has lines "PLACE<tab>COMMAND". For each, prints "STATUS<tab>PLACE<tab>COMMAND",
# and then the output of the command with a "|" before each line.
set -u

tab=$(printf '\t')
cp -a root/. /
mkdir -p /run
ln -s "$PWD" "$1/.cache/build/payload"
ln -s /usr/bin/udevadm /bin/systemd-udevd
systemd-udevd --daemon >/tmp/udevd 2>&1 || exit 1
PATH=/usr/local/bin:/usr/bin:$PATH
cd "$1" || exit 1
while IFS= read -r line <&7; do
	command=${line#*"$tab"}
	sh -c "$command" >/tmp/printed 2>&1 </dev/null
	echo "$?$tab$line"
	sed 's/^/|/' /tmp/printed
done 7</payload/record
