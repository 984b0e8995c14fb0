#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# save.t - hbctl save, and apply --load: belts in files, over a reboot and a clock that was set, and files
# that are damaged, foreign or hostile. A reboot is a destroyed belt, and another boot in the last line.
# shellcheck disable=SC2016 # scripts of sed
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

conf=$temporary/a.conf
state=$temporary/state
tab=$(printf '\t')
mkdir -m 700 "$state"

save() {
	hbctl save "$state" "$conf"
}

load() {
	hbctl apply --load "$state" "$conf"
}

# sum FILE - give the last line of a file the checksum of what stands before it
sum() {
	sed '$s/[^ ]*$//' "$1" | head -c -1 >"$temporary/summed"
	/usr/bin/cksum <"$temporary/summed" |
		sed 's/ .*//; s/^/0000000000/; s/.*\(..........\)$/\1/' >"$temporary/sum"
	cat "$temporary/summed" "$temporary/sum" >"$1"
}

# another_boot FILE - the file was written before the machine was booted
another_boot() {
	sed -i "s/$(cat /proc/sys/kernel/random/boot_id)/01234567-0123-0123-0123-0123456789ab/" "$1"
	sum "$1"
}

# entries BELT - the belt's entries without times left, in order
entries() {
	hbctl -b "$1" dump | cut -f 1,2,4 | sort
}

# reboot BELT... - destroy the belts; their files are of an earlier boot
reboot() {
	for name; do
		hbctl destroy "$name"
		[ ! -f "$state/$name.belt" ] || another_boot "$state/$name.belt"
	done
}

# Round trip
cat >"$conf" <<'.'
[kept]
ttl = 1h
save = yes

[not]
save = no
.
hbctl apply "$conf"
belt=kept
is 'save of an empty belt writes a file without entries' 0 'save kept: 0 entries' '' save
is 'apply --load of a file of a belt that has been there since removes the file' 0 '' '' load
is 'the directory is empty then' 0 '' '' ls "$state"
on put plain value
on put forever 'no end' --ttl never --flags 4294967295
on put empty ''
printf 'a\tb\nc\\\000\001\377 d' | on put -e 'k\t\n\\\x00\x01\x7f\xff' - --flags 7
{ head -c 1000 /dev/urandom && head -c 1047576 /dev/zero | tr '\0' k; } | on put large -
hbctl -b not put other 1
on lock held >/dev/null
on get filling --fill >/dev/null
entries kept >"$temporary/entries"
# From a save that was killed.
head -c 5000000 /dev/zero >"$state/kept.belt.new"
umask 0
is 'save writes the entries of a belt with save = yes, and of no other' 0 'save kept: 5 entries' '' save
umask 022
is 'save leaves the files of these belts alone in the directory' 0 kept.belt '' ls -A "$state"
is 'only the owner may read the file' 0 600 '' stat -c %a "$state/kept.belt"
like 'the file begins with the settings' 0 '#settings --ttl=1h *' '' head -n 1 "$state/kept.belt"
cp "$state/kept.belt" "$temporary/kept.belt"
sum "$temporary/kept.belt"
is 'the checksum of the file is that of cksum' 0 '' '' cmp "$state/kept.belt" "$temporary/kept.belt"
reboot kept
is 'apply --load loads the entries into the belt that it makes' 0 \
	'load kept: 5 entries, and 0 that had expired were left out' '' load
run entries kept
file 'keys, values and flags are those that were saved, byte for byte' "$temporary/entries"
is 'apply --load removes the file' 0 '' '' ls -A "$state"
is 'a second apply --load loads nothing' 0 '' '' load
is 'locks are not saved' 0 '' '' sh -c 'hbctl -b kept locks'
like 'an entry without an end has none after that' 0 '*"flags":4294967295,"ttl_ms":null,*' '' \
	on has forever --json
save >/dev/null
hbctl destroy kept
is 'load reads a file of save, and makes the belt' 0 '{"loaded":5,"kept":0,"expired":0}' '' \
	hbctl -b kept load "$state/kept.belt" --json
run entries kept
file 'a belt that load has made of it has the same entries' "$temporary/entries"
is 'save --json prints an object for each belt' 0 '{"name":"kept","change":"save","entries":5}' '' \
	hbctl save --json "$state" "$conf"
reboot kept
is 'apply --load --json prints an object for each belt' 0 '{"name":"kept","change":"create"}
{"name":"kept","change":"load","loaded":5,"kept":0,"expired":0,"refused":0}' '' \
	hbctl apply --load "$state" --json "$conf"
save >/dev/null
hbctl destroy kept
is 'apply --dry-run --load loads nothing' 0 'create kept: ttl = 1h' '' \
	hbctl apply --load "$state" --dry-run "$conf"
is 'apply --dry-run --load leaves the file' 0 kept.belt '' ls -A "$state"
is 'save of a belt that is missing removes its file, which is older than its end' 0 '' '' save
is 'the directory is empty after that' 0 '' '' ls -A "$state"

# The belt is newer than its file
load
on put a old
on put b old
save >/dev/null
on rm a
on put b new
is 'apply --load into the belt that was saved loads nothing' 0 '' '' load
is 'an entry that was removed since it was saved stays away' 1 '' '*' on get a
value 'an entry that was put since it was saved is left alone' new on get b
on put a old
save >/dev/null
reboot kept
hbctl create kept
on put a new
is 'apply --load after a boot loads into a belt that another program has made' 0 \
	'load kept: 1 entries, and 0 that had expired were left out' '' load
value 'the entries of that program stay' new on get a
value 'the other entries are loaded' new on get b
printf '[default]\nsave = yes\n' >"$conf"
hbctl put own 1
save >/dev/null
hbctl rm own
another_boot "$state/default.belt"
is 'apply --load after a boot loads into the default belt' 0 \
	'load default: 1 entries, and 0 that had expired were left out' '' load
hbctl rm own

# Deadlines
# left BELT KEY - the time that an entry has left, ms
left() {
	hbctl -b "$1" has "$2" --json | sed 's/.*"ttl_ms":\([0-9]*\).*/\1/'
}

# between NAME LEAST NUMBER MOST
between() {
	wrong=
	{ [ "$3" -ge "$2" ] && [ "$3" -le "$4" ]; } || wrong="expected $2 to $4, found $3"
	result "$1" "$wrong"
}

printf '[kept]\nttl = 1h\nsave = yes\n' >"$conf"
# fresh - make the belt anew, with two entries that belt time has brought nearer to their deadlines
fresh() {
	hbctl destroy kept
	hbctl apply "$conf"
	on put soon 1 --ttl 50m
	on put late 2 --ttl 20h
	on advance 10m
}

fresh
before=$(date +%s)
save >/dev/null
after=$(date +%s)
reboot kept
deadline=$(sed -n 's/^late\t2\t@\([0-9]*\)\..*/\1/p' "$state/kept.belt")
between 'the deadline of a file is the clock and the time that is left by belt time' \
	$((before + 71400 - 1)) "$deadline" $((after + 71400 + 1))
load >/dev/null
between 'an entry has at most the time left that it had' 70800000 "$(left kept late)" 71400000

fresh
save >/dev/null
reboot kept
now=$(date +%s)
date -s "@$((now + 7200))" >/dev/null
is 'entries whose deadline has passed meanwhile stay away' 0 \
	'load kept: 1 entries, and 1 that had expired were left out' '' load
between 'time that has passed meanwhile counts' 63600000 "$(left kept late)" 64202000
date -s "@$now" >/dev/null

fresh
save >/dev/null
reboot kept
now=$(date +%s)
date -s "@$((now - 864000))" >/dev/null
like 'apply --load says that the clock was set back' 0 'load kept: 2 entries, *' \
	"$state/kept.belt was written in the future, so the clock was set back: *" load
between 'after that an entry has the time left that it had, and no more' 70800000 \
	"$(left kept late)" 71400000
date -s "@$((now + 1))" >/dev/null

fresh
on halt
left kept late >"$temporary/left"
save >/dev/null
reboot kept
now=$(date +%s)
date -s "@$((now + 864000))" >/dev/null
is 'the entries of a halted belt have the time left that they had' 0 \
	'load kept: 2 entries, and 0 that had expired were left out' '' load
between 'the belt runs after that' 70000000 "$(left kept late)" "$(cat "$temporary/left")"
date -s "@$((now + 1))" >/dev/null

# Another user makes a belt of that name first
fresh
save >/dev/null
reboot kept
chmod 666 /dev/hashbelt
nobody create kept --ttl 1h
run load
result 'a belt of another user gets no entries, and the file is set aside' "$(check_status 0
	grep -q "^hbctl: belt 'kept' belongs to user 65534, and its entries are those of user 0" \
		"$temporary/err" || cat "$temporary/err"
	[ -e "$state/kept.belt.aside" ] || echo 'there is no such file')"
is 'the belt of the other user is empty' 0 0 '' hbctl size kept
chmod 600 /dev/hashbelt
rm "$state/kept.belt.aside"

# Other settings
hbctl destroy kept
printf '[kept]\nsave = yes\n' >"$conf"
hbctl apply "$conf"
seq 20 | sed 's/$/\tv/' | on load 2>"$temporary/err" || cat "$temporary/err"
save >/dev/null
reboot kept
printf '[kept]\nmax-entries = 5\nsave = yes\n' >"$conf"
is 'entries for which there is no room any more are named, and the others loaded' 0 \
	'load kept: 5 entries, and 0 that had expired were left out' \
	"*is the first of 15 lines that were not put" load
is 'the belt has as many as it takes' 0 5 '' hbctl size kept
is 'the file is removed all the same' 0 '' '' ls -A "$state"
on clear
for key in 1 2 3 4; do
	on put $key v
done
head -c 100000 /dev/zero | on put large -
save >/dev/null
reboot kept
printf '[kept]\nmax-bytes = 50k\nsave = yes\n' >"$conf"
is 'a value that is too large for the belt now is named' 0 \
	'load kept: 4 entries, and 0 that had expired were left out' '*, line *, was not put' load

# Damage: another belt is loaded whatever the file of this one is
cat >"$conf" <<'.'
[bad]
save = yes
[good]
save = yes
.
hbctl apply "$conf"
hbctl -b bad put key value --flags 5
hbctl -b good put key value
save >/dev/null
another_boot "$state/bad.belt"
another_boot "$state/good.belt"
cp "$state"/*.belt "$temporary"
size=$(stat -c %s "$temporary/bad.belt")

# again - destroy both belts, and write the file of good
again() {
	printf 'destroy bad\ndestroy good\n' | hbctl batch
	cp "$temporary/good.belt" "$state"
}

# aside NAME WHY - bad.belt is set aside for that, and good.belt is loaded
aside() {
	again
	is "$1: the file is set aside, and only the other belt loaded" 0 \
		'load good: 1 entries, and 0 that had expired were left out' \
		"$state/bad.belt $2: it is $state/bad.belt.aside now; *" load
	result "$1: the file has another name" "$(find "$state" -mindepth 1 ! -name bad.belt.aside
		[ -e "$state/bad.belt.aside" ] || [ -L "$state/bad.belt.aside" ] || echo 'no file')"
	rm -rf "$state/bad.belt.aside"
}

# damaged NAME SCRIPT [WHY] - the same for bad.belt after that script of sed
damaged() {
	sed "$2" "$temporary/bad.belt" >"$state/bad.belt"
	cmp -s "$temporary/bad.belt" "$state/bad.belt" && echo "Bail out! no damage: $1" && exit 1
	aside "$1" "${3:-is damaged: its checksum is wrong}"
}

# forged NAME SCRIPT WHY - the same with the right checksum
forged() {
	sed "$2" "$temporary/bad.belt" >"$state/bad.belt"
	sum "$state/bad.belt"
	aside "$1, and the right checksum" "$3"
}

cut="is cut off, or no file of 'hbctl save'"
damaged 'a wrong byte in the settings' '1s/ttl=5m/ttl=6m/'
damaged 'a wrong byte in a key' 's/^key/kez/'
damaged 'a wrong mark of the last line' '$s/^#saved/#saveb/' "$cut"
damaged 'a wrong format' '$s/saved 1/saved 2/' 'has a format that this hbctl does not know'
damaged 'a wrong number of entries' '$s/ 1 0 running/ 2 0 running/'
damaged 'a wrong name' '$s/ bad / bed /'
damaged 'a checksum without its last digit' '$s/.$//'
damaged 'no checksum' '$s/ [0-9]*$//'
damaged 'an entry that is missing' '/^key/d'
damaged 'a byte behind the end' '$s/$/\nx/' "$cut"
damaged 'no last line' '$d' "$cut"
for left in 0 1 40 $((size / 2)) $((size - 40)) $((size - 1)); do
	why="$cut"
	[ "$left" != 0 ] || why='is empty'
	[ "$left" = 0 ] || [ "$(head -c "$left" "$temporary/bad.belt" | tail -c 1)" = "" ] || why='is cut off'
	head -c "$left" "$temporary/bad.belt" >"$state/bad.belt"
	aside "$left of $size bytes" "$why"
done
head -c 100000 /dev/urandom >"$state/bad.belt"
printf '\n' >>"$state/bad.belt"
aside 'random bytes' "$cut"
head -c 100000 /dev/zero >"$state/bad.belt"
aside 'zeros' 'is cut off'
{ printf '#saved 1 ' && head -c 300 /dev/zero && echo; } >"$state/bad.belt"
aside 'zeros in the last line' 'is damaged: its checksum is wrong'
cp "$temporary/good.belt" "$state/bad.belt"
aside 'the file of another belt' 'has another belt than its name says'
forged 'another number of entries' '$s/ 1 0 running/ 99999999999999999999 0 running/' \
	'does not have as many entries as its last line says'
forged 'a line too few' '/^key/d' 'does not have as many entries as its last line says'
forged 'a last line of another form' '$s/ 0 running/ root running/' 'has a last line of another form'
forged 'no name' '$s/ bad / /' 'has another belt than its name says'
printf '#settings\n' >"$state/bad.belt"
head -c 5000000 /dev/zero | tr '\0' k >>"$state/bad.belt"
printf '\n%s\n' "$(tail -n 1 "$temporary/bad.belt")" >>"$state/bad.belt"
sum "$state/bad.belt"
aside 'a line of 5000000 bytes, and the right checksum' 'has a line that is longer than an entry can be'

# wrong_line NAME SCRIPT ERROR - a line that no dump has, in a file that is whole otherwise
wrong_line() {
	sed "$2" "$temporary/bad.belt" >"$state/bad.belt"
	sum "$state/bad.belt"
	again
	load >"$temporary/out" 2>"$temporary/err"
	status=$?
	result "$1: the line is named, and the other belt loaded" "$(check_status 0
		grep -qF "bad.belt, line 2: $3" "$temporary/err" || cat "$temporary/err"
		grep -q 'bad.belt was not loaded: it is .*aside now' "$temporary/err" ||
			echo 'it was not set aside'
		grep -q '^load good: 1' "$temporary/out" || echo 'the other belt was not loaded')"
	rm -f "$state/bad.belt.aside"
}
wrong_line 'an entry without a value' "s/${tab}.*//" 'there is no tab between key and value'
wrong_line 'a deadline in 300 years' 's/@1/@11/' 'the deadline in the third field is more than 50903 days'
wrong_line 'flags of 33 bits' "s/${tab}5\$/${tab}4294967296/" 'the fourth field is not a number of 32 bits'

# Files that are none
ln -s "$temporary/bad.belt" "$state/bad.belt"
aside 'a symbolic link' 'is a symbolic link'
is 'the target of the link is left alone' 0 "$size" '' stat -c %s "$temporary/bad.belt"
mkfifo "$state/bad.belt"
aside 'a pipe' 'is no file'
mkdir "$state/bad.belt"
aside 'a directory' 'is no file'
cp "$temporary/bad.belt" "$state"
chmod 620 "$state/bad.belt"
aside 'a file that the group may write to' 'may be written to by others'
cp "$temporary/bad.belt" "$state"
chown nobody "$state/bad.belt"
aside 'a file of another user' 'belongs to another user'
rm -f "$state"/*
chmod 777 "$state"
is 'apply --load from a directory that others may write to makes the belts, and fails' 4 '' \
	"others may write to the directory $state: *" load
is 'save into such a directory fails' 4 '' "others may write to the directory $state: *" save
chmod 700 "$state"
is 'save into a missing directory fails' 4 '' 'cannot open the directory /nonexistent: *' \
	hbctl save /nonexistent "$conf"

# A full disk
full=$temporary/full
mkdir "$full"
mount -t tmpfs -o size=64k,mode=700 none "$full" || exit 1
printf '[small]\nsave = yes\n[big]\nsave = yes\n[last]\nsave = yes\n' >"$conf"
hbctl apply "$conf"
hbctl -b small put a 1
hbctl -b big put a 1
hbctl save "$full" "$conf" >/dev/null
cp "$full/big.belt" "$temporary/big.belt"
head -c 100000 /dev/urandom | hbctl -b big put b -
is 'save on a full disk fails, and saves the other belts' 4 'save small: 1 entries
save last: 0 entries' "cannot write $full/big.belt: No space left on device: *" hbctl save "$full" "$conf"
is 'the file from before is whole' 0 '' '' cmp "$temporary/big.belt" "$full/big.belt"
is 'no other file is left behind' 0 'big.belt
last.belt
small.belt' '' ls -A "$full"
umount "$full"

# Usage
is 'save without a file exits with 2' 2 '' "save: an operand is missing: save DIRECTORY FILE... *" \
	hbctl save "$state"
is 'save --belt-owner exits with 2' 2 '' '*--belt-owner is for commands that use one belt *' \
	hbctl save --belt-owner root "$state" "$conf"
echo '[a' >"$conf"
is 'save with a wrong file exits with 2' 2 '' "$conf:1: *" hbctl save "$state" "$conf"
finish
