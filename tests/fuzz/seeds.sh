#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# seeds.sh HBCTL DIRECTORY - make the first inputs of hbctl_fuzz, from the texts below and
# from hbctl's help; and DIRECTORY.words, a dictionary of hbctl's commands and options.
set -eu

hbctl=$1
directory=$2
mkdir -p "$directory"

number=0
# seed TEXT - write an input; TEXT is a format of printf(1).
seed() {
	number=$((number + 1))
	# shellcheck disable=SC2059 # a format on purpose
	printf "$1" >"$directory/seed-$number"
}

seed 'ea\\tb\\nc\\\\d\\x00\\xfF\tz'
seed 'e\342\202\254 \355\240\200 \360\237\230\200'
seed 'lkey\tvalue\t30s\t7'
seed 'la\\tb\tc\\x00d\tnever'
seed 'lkey\tvalue\t@4000000000.250\t7'
seed 'lkey\tvalue\t@1.000'
seed 'u\000load\nfile\n\n#settings --ttl=1h --buckets=5 --report=expired,evicted --mode=0640\nkey\tvalue\n'
seed 'u\000apply\nfile\n\n[a\\x41]\nttl = 5m ; comment\nreport = expired\n[b]\nwhen-full = evict\npinned: yes\n'
seed 'u\000load\nfile\n\nkey\tvalue\t30s\nother\\n\tv\tnever\t1\n'
seed 'u\000create\n--ttl\n1h\n--buckets\n5\n--max-bytes\n10M\n--mode\n0640\n--group\nusers\nname\n\nusers:x:100:\n'
seed 'u\000set\n--belt=b\n--on-expire\nnotify\n--report\nexpired,evicted\n--grace=2s\n'
seed 'u\000put\n-e\nk\\\\x41\n-\n--if-version\n7\n\nthe value'
seed 'u\005put\nkey\nvalue\n--if-lease\n7\n'
seed 'u\000get\nkey\n--fill\n--lease\n3s\n--retry-after\n1m\n--\ntrue\n'
seed 'u\000get\nkey\n--fill\n--print-token\n--ahead\n10%%\n'
seed 'u\000batch\nfile\n--keep-going\n\nput "a key" 1 --ttl 5s\nget a\\ key # comment\nrm x$\n'
seed 'u\000incr\nkey\n-5\n--initial\n100\n'
seed 'u\001lock\nname\n--owner\nme\n--ttl\n1m\n--\ntrue\n'

commands=$("$hbctl" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
for command in $commands; do
	seed "u\\000$command\\nkey\\nvalue\\n"
	"$hbctl" help "$command" | sed -n 's/^.*\(--[a-z-]*\)[ =].*/\1/p' >>"$directory.words.new"
	echo "$command" >>"$directory.words.new"
done
sort -u "$directory.words.new" | sed 's/.*/"&"/' >"$directory.words"
rm "$directory.words.new"
