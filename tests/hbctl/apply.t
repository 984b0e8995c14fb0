#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# apply.t - hbctl apply and export on belts; apply_usage.t has the format of the files.
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

conf=$temporary/a.conf

# shows NAME BELT LINE... - export has these lines for the belt
shows() {
	name=$1 shown=$2
	shift 2
	hbctl export | sed -n "/^\[$shown\]$/,/^$/p" >"$temporary/section"
	result "$name" "$(for wanted; do
		grep -qFx -- "$wanted" "$temporary/section" || echo "export lacks: $wanted"
	done)"
}

# Making belts
cat >"$conf" <<'.'
[all]
ttl = 1m
grace = 90s
buckets = 7
policy = updating
on-expire = reinsert
report = removed,expired
consumers = owner
max-entries = 5
max-bytes = 64k
max-events = none
when-full = evict
pinned = yes
wipe = yes
mode = 0660
group = nogroup

[plain]
.
is 'apply --dry-run prints the missing belts with their settings' 0 \
	'create all: ttl = 1m, grace = 90s, buckets = 7, policy = updating, on-expire = reinsert, report = removed,expired, consumers = owner, max-entries = 5, max-bytes = 64k, max-events = none, when-full = evict, pinned = yes, wipe = yes, mode = 0660, group = nogroup
create plain' '' hbctl apply --dry-run "$conf"
is 'apply --dry-run makes no belt' 3 '' "there is no belt 'plain', *" hbctl info plain
is 'apply --check exits with 1 if a belt is missing' 1 '' \
	"the belts differ from the files: 'hbctl apply --dry-run' shows how" \
	hbctl apply --check "$conf"
is 'apply --check makes no belt' 3 '' "there is no belt 'plain', *" hbctl info plain
is 'apply --json prints an object for each belt that it makes' 0 '{"name":"all","change":"create"}
{"name":"plain","change":"create"}' '' hbctl apply --json "$conf"
# Settings that are newer than this test stand behind group.
is 'export prints the settings of the belts that apply has made' 0 '[all]
ttl = 1m
grace = 1m30s
buckets = 7
refresh-on-get = yes
on-put = replace
when-full = evict
pinned = yes
wipe = yes
on-expire = reinsert
report = expired,removed
consumers = owner
max-entries = 5
max-bytes = 64k
max-events = none
mode = 0660
group = 65534
[plain]
ttl = 5m
grace = none
buckets = 3
refresh-on-get = no
on-put = replace
when-full = reject
pinned = no
wipe = no
on-expire = drop
report = expired,evicted,pressure
consumers = readers
max-entries = none
max-bytes = none
max-events = 1048576
mode = 0600
group = 0' '' sh -c "hbctl export | awk '/^\[/ { p = !/default/ } p && NF; /^group/ { p = 0 }'"
is 'apply --check exits with 0 after apply' 0 '' '' hbctl apply --check "$conf"
is 'a second apply finds nothing to change' 0 '' '' hbctl apply --json "$conf"
is 'apply of a belt that create has made with defaults finds nothing to change' 0 '' '' \
	sh -c 'hbctl create made && echo "[made]" | hbctl apply --json -'

# Changing belts
belt jobs --ttl 10m --buckets 5 --mode 0640 --policy standard --pinned --max-entries 10
on put a 1 --ttl never
printf '[jobs]\nttl = 20m\nmode = 0640\nwhen-full = evict\n' >"$conf"
is 'apply --dry-run prints each setting that differs' 0 'set jobs: ttl = 10m -> 20m
set jobs: when-full = reject -> evict' '' hbctl apply --dry-run "$conf"
shows 'apply --dry-run changes no belt' jobs 'ttl = 10m' 'when-full = reject'
is 'apply --dry-run --check prints the differences, and exits with 1' 1 'set jobs: ttl = 10m -> 20m
set jobs: when-full = reject -> evict' 'the belts differ from the files: *' \
	hbctl apply --dry-run --check "$conf"
is 'apply --check exits with 1 if a setting differs' 1 '' 'the belts differ from the files: *' \
	hbctl apply --check "$conf"
is 'apply --check --json prints the differences' 1 \
	'{"name":"jobs","change":"set","setting":"ttl","from":"10m","to":"20m"}
{"name":"jobs","change":"set","setting":"when-full","from":"reject","to":"evict"}' \
	'the belts differ from the files: *' hbctl apply --check --json "$conf"
shows 'apply --check changes no belt' jobs 'ttl = 10m' 'when-full = reject'
hbctl export | sed 's/^ttl = 10m/ttl = 20m/; /^\[jobs/,/^$/s/reject/evict/' >"$temporary/changed"
is 'apply of settings that differ prints nothing' 0 '' '' hbctl apply "$conf"
run hbctl export
cp "$temporary/changed" "$temporary/wanted"
result 'apply changes the settings that the file names, and no other' "$(same)"
value 'apply leaves the entries of a belt' 1 on get a
is 'apply leaves belts that no file names' 0 0 '' hbctl size all
printf '[jobs]\non-put = replace\npolicy = standard\n' >"$conf"
is 'one half of the policy counts, also before the line of the policy' 0 \
	'set jobs: on-put = keep -> replace' '' hbctl apply --dry-run "$conf"
printf '[jobs]\npolicy = updating\n' >"$conf"
is 'a policy that differs is shown in its halves' 0 'set jobs: refresh-on-get = no -> yes
set jobs: on-put = keep -> replace' '' hbctl apply --dry-run "$conf"
hbctl apply "$conf"
shows 'apply of a policy leaves the other bits of the policy' jobs 'refresh-on-get = yes' \
	'on-put = replace' 'pinned = yes' 'when-full = evict'
printf '[jobs]\nevict = deadline\n' >"$conf"
is 'apply of a file with the setting evict of older versions exits with 2' 2 '' \
	"$conf:2: apply: there is no setting 'evict' any more: delete it, and set when-full to evict *" \
	hbctl apply "$conf"
printf '[jobs]\nmax-entries = none\nmax-events = 0\ngrace = 0\n' >"$conf"
hbctl apply "$conf"
shows 'apply takes a limit off' jobs 'max-entries = none' 'max-events = none' 'grace = none'
is 'apply of the same limits finds nothing to change' 0 '' '' hbctl apply --json "$conf"

# Errors
printf '[early]\n[jobs]\nttl = 1h\n[late]\ncolour = red\n' >"$conf"
is 'a wrong line exits with 2' 2 '' "$conf:5: apply: there is no setting 'colour' *" \
	hbctl apply "$conf"
is 'with a wrong line no belt before it is made' 3 '' "there is no belt 'early', *" hbctl info early
shows 'with a wrong line no belt before it is changed' jobs 'ttl = 20m'
mkdir "$temporary/etc"
echo '[first]' >"$temporary/etc/1.conf"
echo 'wrong' >"$temporary/etc/2.conf"
is 'a wrong line in the second file exits with 2' 2 '' "$temporary/etc/2.conf:1: *" \
	hbctl apply "$temporary/etc"
is 'with a wrong line in the second file the first one is not applied' 3 '' \
	"there is no belt 'first', *" hbctl info first
echo '[second]' >"$temporary/etc/2.conf"
is 'apply of a directory makes the belts of all files, in order' 0 'create first
create second' '' hbctl apply --dry-run "$temporary/etc"
echo '[third]' >"$conf"
is 'apply takes a directory and a file' 0 '' '' hbctl apply "$temporary/etc" "$conf"
is 'apply --check of a directory and a file exits with 0 after apply' 0 '' '' \
	hbctl apply --check "$temporary/etc" "$conf"
is 'apply --belt-owner exits with 2' 2 '' 'apply: --belt-owner is for commands that use one belt *' \
	hbctl apply --belt-owner root "$conf"
is 'export --belt-owner exits with 2' 2 '' 'export: --belt-owner is for commands that use one belt *' \
	hbctl export --belt-owner root

# Rights
chmod 666 /dev/hashbelt
hbctl create shown --mode 0644
printf '[shown]\nmode = 0644\n' >"$temporary/shown.conf"
chmod 755 "$temporary"
is 'user nobody: apply of a belt of root that does not differ exits with 0' 0 '' '' \
	nobody apply "$temporary/shown.conf"
printf '\n[shown]\nttl = 1h\n[own]\n' >"$temporary/shown.conf"
is 'user nobody: apply of a belt of root that differs exits with 3 and names its line' 3 '' \
	"$temporary/shown.conf:2: set is for the owner of belt 'shown', and for root" \
	nobody apply "$temporary/shown.conf"
is 'apply makes the belts behind one that fails' 0 0 '' nobody size own
printf '[third]\n' >"$temporary/shown.conf"
is 'user nobody: apply of a belt that may not be used exits with 1 and names its line' 1 '' \
	"$temporary/shown.conf:1: there is a belt 'third' already*" nobody apply "$temporary/shown.conf"
printf '[own]\nmode = 0\n' >"$temporary/shown.conf"
is 'user nobody: apply sets its own belt' 0 '' '' nobody apply "$temporary/shown.conf"
is 'user nobody: apply --check of its own belt of mode 0 exits with 0' 0 '' '' \
	nobody apply --check "$temporary/shown.conf"
hbctl belts | awk '/^shown|^default/ { print "[" $1 "]" }' >"$temporary/wanted"
nobody export | grep '^\[' >"$temporary/out"
result 'user nobody: export prints only belts that nobody may read' \
	"$(grep -vFx -f "$temporary/wanted" "$temporary/out" | grep -v '^\[all\]$'
	grep -qx '\[shown\]' "$temporary/out" || echo 'shown is missing')"
chmod 600 /dev/hashbelt

# The way back
hbctl create "$(text 63)" --ttl 1h1ms --max-bytes 65537 --mode 0
hbctl create ' ] \;x[' --report all --grace 1500ms --max-bytes 3G
hbctl create "$(printf 'gr\303\274n\377')" --ttl 2w --policy standard --group 4294967294
hbctl export >"$temporary/exported"
is 'apply --check of what export prints is silent' 0 '' '' \
	sh -c 'hbctl export | hbctl apply --check -'
is 'apply of what export prints finds nothing to change' 0 '' '' \
	hbctl apply --json "$temporary/exported"
hbctl belts --json | grep -c . >"$temporary/count"
result 'export prints each belt' \
	"$([ "$(grep -c '^\[' "$temporary/exported")" = "$(cat "$temporary/count")" ] ||
		echo "expected $(cat "$temporary/count") belts")"
hbctl belts --json | sed -n 's/^{"name":"\([a-z]*\)",.*/\1/p' | grep -vx default |
	while read -r name; do
		hbctl destroy "$name"
	done
hbctl destroy ' ] \;x['
hbctl destroy "$(printf 'gr\303\274n\377')"
is 'apply of what export printed makes destroyed belts' 0 '' '' hbctl apply "$temporary/exported"
sort "$temporary/exported" >"$temporary/wanted"
hbctl export | sort >"$temporary/out"
result 'belts that apply has made from an export have the same settings' "$(same)"
valid 'export --json prints valid JSON' hbctl export --json
finish
