#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# settings.t - settings of belts, at create and by set, and the output of info and stat.
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

# create with all options
json 'create --json with all options prints them' 0 \
	'{"name":"all","entries":0,"bytes":N,"ttl_ms":60000,"interval_ns":10000000000,"buckets":7,"levels":1,"policy":"updating","refresh_on_get":true,"keep_on_put":false,"now_ns":N,"halted":false,"wake_ns":null,"table":N,"mode":"0660","uid":0,"gid":65534,"access":["read","write","own"],"when_full":"evict","pinned":true,"wipe":true,"on_expire":"reinsert","report":["expired","removed"],"max_entries":5,"max_bytes":65536,"max_events":7,"grace_ms":90000,"window_bytes":null,"locks":0,"requests":0,"used_entries":0,"used_bytes":0,"queued":0,"queued_bytes":0,"in_flight":0,"sequence":0,"id":N,"window_used":0}' '' \
	hbctl create all --ttl 1m --buckets 7 --policy updating --mode 0660 \
	--on-expire reinsert --report removed,expired --max-entries 5 --max-bytes 64k \
	--max-events 7 --grace 90s --when-full evict --pinned --wipe --group nogroup --json

# the settings of a belt that gives a few, or none
json 'create --json prints the default settings' 0 \
	'{"name":"json","entries":0,"bytes":N,"ttl_ms":300000,"interval_ns":150000000000,"buckets":3,"levels":1,"policy":"timecache","refresh_on_get":false,"keep_on_put":false,"now_ns":N,"halted":false,"wake_ns":null,"table":N,"mode":"0600","uid":0,"gid":0,"access":["read","write","own"],"when_full":"reject","pinned":false,"wipe":false,"on_expire":"drop","report":["expired","evicted","pressure"],"max_entries":null,"max_bytes":null,"max_events":1048576,"grace_ms":0,"window_bytes":null,"locks":0,"requests":0,"used_entries":0,"used_bytes":0,"queued":0,"queued_bytes":0,"in_flight":0,"sequence":0,"id":N,"window_used":0}' \
	'' hbctl create json --json
hbctl create few --ttl 90s --buckets 10 --policy standard --mode 0640
hbctl -b few halt
json 'info --json prints all fields of a new belt' 0 \
	'{"name":"few","entries":0,"bytes":N,"ttl_ms":90000,"interval_ns":10000000000,"buckets":10,"levels":1,"policy":"standard","refresh_on_get":false,"keep_on_put":true,"now_ns":N,"halted":true,"wake_ns":null,"table":N,"mode":"0640","uid":0,"gid":0,"access":["read","write","own"],"when_full":"reject","pinned":false,"wipe":false,"on_expire":"drop","report":["expired","evicted","pressure"],"max_entries":null,"max_bytes":null,"max_events":1048576,"grace_ms":0,"window_bytes":null,"locks":0,"requests":0,"used_entries":0,"used_bytes":0,"queued":0,"queued_bytes":0,"in_flight":0,"sequence":0,"id":N,"window_used":0,"bucket_entries":[0,0,0,0,0,0,0,0,0,0,0]}' \
	'' hbctl info few --json
hbctl -b few put a 1
like 'info prints all settings and a bar for each bucket' 0 'name:         few
id:           [0-9]*
entries:      1
locks:        0
requests:     0
memory:       * bytes)
ttl:          1m30s
grace:        none
interval:     10s
buckets:      10
levels:       1
policy:       standard: get does not renew the time-to-live, put keeps a present entry
max entries:  none, 1 used
max bytes:    none, * B used
when full:    reject: a put of a new key fails
pinned:       no
wipe:         no
window:       off
on expire:    drop
events:       0 queued (0 B), 0 in flight, newest is 0
max events:   1048576
belt time:    *
clock:        halted
worker:       looks in 1m*s of belt time
index:        * chains, load 0.*
mode:         0640
owner:        0:0
you may:      read, write, own
entries by the time that they have left:
       0s to 10s  0
*
  1m20s to 1m30s  0
  1m30s to 1m40s  1  ########*
   1m40s or more  0' '' hbctl info few
hbctl destroy json
hbctl destroy few

# made NAME PATTERN OPTION... - create with OPTIONs makes a belt whose JSON matches PATTERN
made() {
	made_name=$1 made_pattern=$2
	shift 2
	like "create: $made_name" 0 "*$made_pattern*" '' hbctl create made "$@" --json
	hbctl destroy made
}

made '--on-expire notify sets handler notify and the default reasons' \
	'"on_expire":"notify","report":\["expired","evicted","pressure"\]' --on-expire notify
made '--report cleared reports this reason alone' '"report":\["cleared"\]' --report cleared
made '--report all reports all reasons' \
	'"report":\["expired","evicted","replaced","removed","cleared","pressure","released"\]' \
	--report all
made '--grace 1m30s sets a grace time' '"grace_ms":90000,' --grace 1m30s
made '--grace none sets no grace time' '"grace_ms":0,' --grace none
made 'limits of none are null' '"max_entries":null,"max_bytes":null,"max_events":null' \
	--max-entries none --max-bytes none --max-events none
made '--pinned yes and --wipe no take a word' '"pinned":true,"wipe":false' --pinned yes --wipe no
made '--pinned=no and --wipe=yes take a word after =' \
	'"pinned":false,"wipe":true' --pinned=no --wipe=yes
made '--pinned before another option means yes' '"pinned":true,"wipe":true' --pinned --wipe
made '--group takes a number' '"gid":12345,' --group 12345
awk 'BEGIN { printf "crowd:x:4321:user"; for (i = 1; i < 5000; i++) printf ",user%d", i; print "" }' \
	>>/etc/group
made '--group takes a group of 5000 members' '"gid":4321,' --group crowd
is 'create takes a name after --pinned --' 0 '' '' hbctl create --pinned -- yes
is 'create takes the name no before --pinned' 0 '' '' hbctl create no --pinned
is 'destroy of a belt that is called yes exits with 0' 0 '' '' hbctl destroy yes

# set, one option at a time
hbctl create set --ttl 1m --buckets 7
hbctl -b set halt
# sets NAME SCRIPT OPTION... - set changes the belt's JSON exactly as the sed SCRIPT does
sets() {
	name=$1
	hbctl info set --json | sed 's/,"bucket_entries".*/}/' >"$temporary/before"
	sed "$2" "$temporary/before" >"$temporary/wanted"
	normalize "$temporary/wanted"
	shift 2
	run hbctl set set "$@" --json
	normalize "$temporary/out"
	normalize "$temporary/before"
	result "set: $name" "$(check_status 0; check_error ''; same
		! cmp -s "$temporary/before" "$temporary/wanted" ||
			echo 'the script changes nothing')"
}

sets '--ttl changes ttl and interval' 's/60000,"interval_ns":1/120000,"interval_ns":2/' --ttl 2m
sets '--grace sets a grace time' 's/"grace_ms":0/"grace_ms":1500/' --grace 1.5s
sets '--buckets changes buckets and interval' \
	's/20000000000,"buckets":7/40000000000,"buckets":4/' --buckets 4
sets '--policy changes the policy' \
	's/"timecache"/"standard"/; s/put":false/put":true/' --policy standard
sets '--refresh-on-get changes this half of the policy' \
	's/"standard"/"mixed"/; s/get":false/get":true/' --refresh-on-get yes
sets '--on-put changes this half of the policy' \
	's/"mixed"/"updating"/; s/put":true/put":false/' --on-put replace
sets '--when-full changes the policy' 's/"reject"/"evict"/' --when-full evict
sets '--pinned pins the belt' 's/"pinned":false/"pinned":true/' --pinned
sets '--wipe yes turns wiping on' 's/"wipe":false/"wipe":true/' --wipe yes
sets '--pinned no unpins the belt' 's/"pinned":true/"pinned":false/' --pinned no
sets '--on-expire changes the handler' 's/"drop"/"notify"/' --on-expire notify
sets '--report changes the reasons' 's/\["expired","evicted",/["expired","evicted","cleared",/' \
	--report expired,evicted,cleared,pressure
sets '--max-entries sets a limit' 's/"max_entries":null/"max_entries":10/' --max-entries 10
sets '--max-bytes sets a limit' 's/"max_bytes":null/"max_bytes":1048576/' --max-bytes 1M
sets '--max-events changes the limit' 's/"max_events":1048576/"max_events":3/' --max-events 3
sets '--mode changes the mode' 's/"0600"/"0640"/' --mode 0640
sets '--group changes the group' 's/"gid":0/"gid":65534/' --group nogroup
sets '--window on gives the belt a window of 1 MiB' \
	's/"window_bytes":null/"window_bytes":1048576/; s/"wipe":true/"wipe":false/' --window on --wipe no
sets '--window changes its size' 's/"window_bytes":1048576/"window_bytes":65536/' --window 64k
like 'info prints the size of the window and its slots' 0 '*
window:       64k, 0 of 512 slots used
*' '' hbctl info set
is 'belts -o window prints its size' 0 '64k 0' '' sh -c \
	'hbctl belts -o name,window,window-used --raw --noheadings | sed -n "s/^set //p"'
is 'set --wipe on a belt with a window exits with 2' 2 '' \
	"set: belt 'set' cannot wipe and have a window, *: '--window off' or '--wipe no' *" hbctl set set --wipe
sets '--window off takes it away' \
	's/"window_bytes":65536/"window_bytes":null/; s/"wipe":false/"wipe":true/' --window off --wipe
is 'set --window on a belt that wipes exits with 2' 2 '' "set: belt 'wiper' cannot wipe and have a window, *" \
	sh -c 'hbctl create wiper --wipe && hbctl set wiper --window on'
hbctl destroy wiper
sets 'two options change two settings and no other' \
	's/"evict",/"reject",/; s/"notify"/"drop"/' --when-full reject --on-expire drop
is 'set of an unknown belt exits with 3' 3 '' "there is no belt 'nosuch', or you have no right to it: *" \
	hbctl set nosuch --pinned

# Full belts
belt full --max-entries 2
on put a 1
on put b 2
is 'put of a new key on a belt at max_entries exits with 4' 4 '' "belt 'full' is full: *" on put c 3
is 'load on a belt at max_entries exits with 4' 4 '' "belt 'full' is full: *" \
	sh -c 'echo "c	3" | hbctl -b full load'
hbctl set full --when-full evict
like 'info prints limits and what is used of them' 0 '*max entries:  2, 2 used
max bytes:    none, * used
when full:    evict: *' '' on info
belt tight --max-bytes 4k
is 'put beyond max_bytes exits with 4' 4 '' \
	"belt 'tight' can never hold 5001 bytes of key and value and *: raise its max_bytes of 4096; *" \
	on put a "$(text 5000)"
belt small --max-bytes 64k --when-full evict
is 'put of a value that can never fit an empty belt that evicts says its size and the limit' 4 '' \
	"belt 'small' can never hold 100001 bytes of key and value *: raise its max_bytes of 65536; *" \
	on put a "$(text 100000)"
belt pages --max-bytes 10000
is 'put of a value that fits an empty belt only without its overhead says so' 4 '' \
	"belt 'pages' is empty, but 9601 bytes and what they take beside do not fit into its *" \
	on put a "$(text 9600)"
belt few --max-entries 2
printf 'a\t1\nb\t2\nc\t3\na\t4\nd\t5\n' >"$temporary/five"
is 'load into a full belt names the first line that was refused, and counts the others' 4 '' \
	"belt 'few' is full: 2 entries count against its max_entries of 2; *: $temporary/five, line 3, is the first of 2 lines that were not put" \
	on load "$temporary/five"
value 'load into a full belt puts the lines for which there is room' 4 on get a
on clear
head -n 3 "$temporary/five" >"$temporary/three"
is 'load --json into a full belt counts the lines that were refused' 4 \
	'{"loaded":2,"kept":0,"expired":0,"refused":1}' \
	"belt 'few' is full: *: $temporary/three, line 3, was not put" \
	on load "$temporary/three" --json
hbctl -b tight put a "$(text 500)"
belt=tight
like 'info prints max_bytes and the bytes that are used' 0 \
	'*max bytes:    4.0 KiB, [5-9]?? B used*' '' on info

# Rights
chmod 666 /dev/hashbelt
hbctl create shown --mode 0644
is 'user nobody: set of a belt of root exits with 3' 3 '' \
	"set is for the owner of belt 'shown', and for root" nobody set shown --pinned
is 'user nobody: set of a belt of mode 0600 exits with 3' 3 '' \
	"there is no belt 'full', or you have no right to it: *" nobody set full --pinned
is 'user nobody: create --group of another group exits with 3' 3 '' \
	"create --group: belt 'own' must be yours, and you in that group, *" \
	nobody create own --group root
is 'user nobody: create --group of its own group exits with 0' 0 '' '' \
	nobody create own --group nogroup --pinned
is 'user nobody: set --group of another group exits with 3' 3 '' \
	"set --group: belt 'own' must be yours, *" nobody set own --group 0
is 'user nobody: set --group of its own group exits with 0' 0 '' '' \
	nobody set own --group 65534 --mode 0
like 'user nobody: set of its own belt of mode 0 exits with 0' 0 '*"mode":"0000",*"pinned":false,*' \
	'' nobody set own --pinned no --json
like 'user nobody: set --pinned of a belt that was created pinned exits with 0' 0 '*"pinned":true,*' \
	'' nobody set own --pinned --json
nobody create loose
is 'user nobody: set --pinned of a belt that was created unpinned exits with 3' 3 '' \
	"belt 'loose' was created without --pinned, *: create it with --pinned" \
	nobody set loose --pinned
is 'set --pinned by root of a belt that a user created unpinned exits with 0' 0 '' '' \
	hbctl set loose --pinned
hbctl destroy loose
chmod 644 /dev/hashbelt
is 'device of mode 0644: create by nobody exits with 3' 3 '' \
	"no right to create belt 'more': the device is open for reading only: join its group *" \
	nobody create more
is 'device of mode 0644: set by the owner of the belt exits with 3' 3 '' \
	"no right to change belt 'own': the device is open for reading only: join its group *" \
	nobody set own --pinned
chmod 600 /dev/hashbelt

# Limits of the number of belts and of a user
limit=/sys/module/hashbelt/parameters
before=$(cat $limit/max_belts)
echo 1 >$limit/max_belts
is 'create beyond max_belts exits with 4' 4 '' 'there are as many belts as there may be, *' \
	hbctl create more
echo "$before" >$limit/max_belts
before=$(cat $limit/user_max_belts)
echo 1 >$limit/user_max_belts
chmod 666 /dev/hashbelt
is 'create beyond user_max_belts exits with 4' 4 '' 'you have as many belts as a user may have, *' \
	nobody create more
echo "$before" >$limit/user_max_belts
before=$(cat $limit/user_max_bytes)
hbctl set own --mode 0600
echo 4k >$limit/user_max_bytes
is 'put of a value that can never fit below user_max_bytes says its size and the limit' 4 '' \
	"belt 'own' can never hold 5001 bytes of key and value and *: raise user_max_bytes (4096)*" \
	nobody -b own put a "$(text 5000)"
echo "$before" >$limit/user_max_bytes
chmod 600 /dev/hashbelt

# Bars: 10 buckets of 10 seconds, and later entries
belt drawn --ttl 90s --buckets 10
for entry in a:1s b:9.999s c:11s d:12s e:13s f:14s g:35s h:90s; do
	on put ${entry%:*} x --ttl ${entry#*:}
done
on put never x --ttl never
like 'info --json prints the entries of each bucket' 0 \
	'*,"bucket_entries":\[2,4,0,1,0,0,0,0,0,1,1\]}' '' on info --json
like 'stat --spread --json prints the entries of each bucket' 0 \
	'*,"bucket_entries":\[2,4,0,1,0,0,0,0,0,1,1\]}' '' on stat --spread --json
on stat --json >"$temporary/out"
result 'stat --json prints no entries of buckets' "$(grep bucket_entries "$temporary/out")"

# drawing NAME WIDTH LOCALE [COMMAND...] - info, or COMMAND, prints the file wanted
drawing() {
	name=$1 columns=$2 locale=$3
	shift 3
	[ $# != 0 ] || set -- info
	COLUMNS=$columns LC_ALL=$locale on "$@" >"$temporary/info"
	sed -n '/^entries by/,$p' "$temporary/info" >"$temporary/out"
	result "$name" "$(same)"
}
cat >"$temporary/wanted" <<'.'
entries by the time that they have left:
       0s to 10s  2  #####
      10s to 20s  4  ##########
      20s to 30s  0
      30s to 40s  1  ###
      40s to 50s  0
       50s to 1m  0
     1m to 1m10s  0
  1m10s to 1m20s  0
  1m20s to 1m30s  0
  1m30s to 1m40s  1  ###
   1m40s or more  1  ###
.
drawing 'info draws a bar for each bucket' 31 C
drawing 'stat --spread draws a bar for each bucket' 31 C stat --spread
cp "$temporary/wanted" "$temporary/drawing"
sed -i 's/##########/########/; s/  #####$/  ####/; s/  ###$/  ##/' "$temporary/wanted"
drawing 'info draws bars of 8 columns at least on a narrow terminal' 1 POSIX
sed 's/##########/██████████/; s/#####/█████/; s/###/██▌/' "$temporary/drawing" >"$temporary/wanted"
drawing 'info draws block characters in locale C.UTF-8' 31 C.UTF-8
drawing 'info draws block characters in locale de_DE.utf8' 31 de_DE.utf8
like 'info without COLUMNS draws 80 columns' 0 "*
      10s to 20s  4  $(printf '%059d' 0 | tr 0 '#')
*" '' on info
hbctl set drawn --buckets 1000
COLUMNS=40 hbctl info drawn | sed '1,/^entries by/d' >"$temporary/drawing"
awk '{
	sum += $4
	if (length($0) > 40)
		print "a line is too long: " $0
}
END {
	if (NR > 20 || NR < 10)
		print NR " lines"
	if (sum != 9)
		print sum " entries, of 9"
}' "$temporary/drawing" >"$temporary/wrong"
result 'info joins 1000 buckets into 10 to 20 lines' "$(cat "$temporary/wrong")"
on clear
on info >"$temporary/out"
on stat --spread >>"$temporary/out"
result 'info and stat --spread draw no bars for an empty belt' \
	"$(grep 'entries by' "$temporary/out")"

# stat; belt time is moved to just after a rotation.
belt late --ttl 90s --buckets 10
on advance "$(on info --json | sed 's/.*"now_ns":\([0-9]*\).*/\1/' |
	awk '{ print 10000 - int($1 / 1000000) % 10000 }')ms"
on put a 1 --ttl 1s
on put b 1 --ttl 40s
on advance 2s
on get a 2>/dev/null
on get x 2>/dev/null
like 'stat counts misses of expired and of unknown keys' 0 '*
misses 2
*
misses_expired 1
*
misses_cold 1*' '' on stat --raw --noheadings
on advance 48s
like 'stat draws the lag of expired entries' 0 '*
window_used * 0
lag of expired entries:
   below 16.384s  1  ####*
   below 32.768s  0
  below 1m5.536s  1  ####*' '' on stat
like 'stat --json prints the lag of expired entries' 0 \
	'{"name":"late",*"lags":\[0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0,1,0,0,0,0,0,0,0\]}' '' \
	on stat --json
belt used --max-entries 7 --max-bytes 1M --max-events none --on-expire notify
on put a 1
on put b 2 --ttl 1s
on advance 1h
on put c 3
like 'stat prints used entries, bytes, events and limits' 0 '*
entries 1
bytes [1-9]*
used_entries 3
max_entries 7
used_bytes [1-9]*
max_bytes 1048576
queued_events 2
queued_bytes [1-9]*
max_events none
in_flight_events 0
held_locks 0
waiting_requests 0
window_used 0' '' on stat --raw --noheadings
like 'stat --json prints used entries, bytes, events and limits' 0 \
	'*,"entries":1,"bytes":[1-9]*,"used_entries":3,"max_entries":7,"used_bytes":[1-9]*,"max_bytes":1048576,"queued_events":2,"queued_bytes":[1-9]*,"max_events":null,"in_flight_events":0,"held_locks":0,"waiting_requests":0,"window_used":0,*' \
	'' on stat --json
valid 'stat --all --json prints valid JSON' hbctl stat --all --json
valid 'info --json prints valid JSON' hbctl info late --json
valid 'belts --json prints valid JSON' hbctl belts --json
hbctl stat --all >"$temporary/stat"
hbctl belts --json | sed 's/{"name":"\([^"]*\)",.*/belt: \1/' >"$temporary/wanted"
grep '^belt: ' "$temporary/stat" >"$temporary/out"
result 'stat --all lists all belts' "$(same)"

# check_prometheus - print what is wrong with the last output: what it says of each family stands once before its
# samples, of which each has the right form and occurs once. promtool reads recorded.prom.
check_prometheus() {
	check_status 0
	check_error ''
	[ "$(tail -c 1 "$temporary/out" | od -An -c | tr -d ' ')" = '\n' ] ||
		echo 'no newline at the end'
	awk '
	function wrong(what) { print what ": " $0 }
	/^# HELP [a-z_]+ ./ { help = $3; next }
	/^# TYPE [a-z_]+ (counter|gauge|histogram)$/ {
		if ($3 != help || families[$3]++)
			wrong("not once, behind its HELP")
		family = $4 == "histogram" ? $3 "(_bucket|_count)" : $3
		value = $4 == "gauge" ? "([0-9]+([.][0-9]+)?|[+]Inf)" : "[0-9]+"
		next
	}
	$0 !~ "^" family "([{]([a-z0-9_]+=\"([^\"\\\\]|\\\\[\"\\\\n])*\",?)+[}])? " value "$" { wrong("not of its family") }
	{
		series = substr($0, 1, length($0) - length($NF))
		if (samples[series]++)
			wrong("twice")
		count++
	}
	END { if (!count) print "there is no sample" }' "$temporary/out" 2>&1
}

# sample NAME LINE - the last output has LINE once
sample() {
	found=$(grep -cFx -- "$2" "$temporary/out")
	result "$1" "$([ "$found" = 1 ] || echo "$found times: $2")"
}

hbctl create 'a"b\c'
hbctl create "$(printf 'x\377')"
hbctl create 'grün'
belt spread --ttl 90s --buckets 10
on put a x --ttl 1s
on put b x --ttl 11s
on put c x --ttl never
on put d x --ttl 2h
belt fine --ttl 1h --buckets 1000
for ttl in 1s 1m 2m 30m 59m 1h 2h never; do
	on put $ttl x --ttl $ttl
done
run hbctl stat --all --prometheus
result 'stat --all --prometheus prints the valid format' "$(check_prometheus)"
result 'stat --prometheus prints no entries of buckets' "$(grep bucket_entries "$temporary/out")"
grep '^#' "$temporary/out" >"$temporary/families"
grep '^# [HT]' "$(dirname "$0")/recorded.prom" >"$temporary/wanted"
mv "$temporary/families" "$temporary/out"
result 'stat --all --prometheus prints the families of tests/hbctl/recorded.prom' "$(same)"
run hbctl stat --all --prometheus --spread
result 'stat --all --prometheus --spread prints the valid format' "$(check_prometheus)"
sample 'stat --prometheus prints a counter' 'hashbelt_misses_expired_total{belt="late"} 1'
sample 'stat --prometheus prints the type of a counter' \
	'# TYPE hashbelt_misses_expired_total counter'
sample 'stat --prometheus prints a limit as a gauge' 'hashbelt_max_entries{belt="full"} 2'
sample 'stat --prometheus prints queued events as a gauge' 'hashbelt_queued_events{belt="used"} 2'
sample 'stat --prometheus prints a missing limit as +Inf' 'hashbelt_max_entries{belt="late"} +Inf'
sample 'stat --prometheus --spread prints the entries of a bucket' \
	'hashbelt_bucket_entries{belt="spread",bucket="1"} 1'
sample 'stat --prometheus --spread prints 0 for an empty bucket' \
	'hashbelt_bucket_entries{belt="spread",bucket="2"} 0'
sample 'stat --prometheus --spread prints entries beyond the buckets' \
	'hashbelt_bucket_entries{belt="spread",bucket="10"} 2'
sample 'stat --prometheus --spread prints entries beyond 1000 buckets' \
	'hashbelt_bucket_entries{belt="fine",bucket="1000"} 2'
sed -n 's/^hashbelt_bucket_entries{belt="fine",bucket="\([0-9]*\)"}/\1/p' "$temporary/out" | awk '
	NR > 2 && $1 < 1000 && $1 - last != step { print "from " last " to " $1 }
	{ step = $1 - last; last = $1; sum += $2 }
	END {
		if (NR > 100 || NR < 50)
			print NR " samples"
		if (sum != 8)
			print sum " entries, of 8"
	}' >"$temporary/wrong"
result 'stat --prometheus --spread joins 1000 buckets into 50 to 100 samples' \
	"$(cat "$temporary/wrong")"
sample 'stat --prometheus prints 0 below the first lag' \
	'hashbelt_expired_lag_seconds_bucket{belt="late",le="8.192"} 0'
sample 'stat --prometheus adds lags up' \
	'hashbelt_expired_lag_seconds_bucket{belt="late",le="16.384"} 1'
sample 'stat --prometheus prints all lags under +Inf' \
	'hashbelt_expired_lag_seconds_bucket{belt="late",le="+Inf"} 2'
sample 'stat --prometheus prints the number of all lags' \
	'hashbelt_expired_lag_seconds_count{belt="late"} 2'
result 'stat --prometheus prints no sum of lags' "$(grep '_lag_seconds_sum' "$temporary/out")"
sample 'stat --prometheus prints the interval of a belt in seconds' \
	'hashbelt_interval_seconds{belt="late"} 10.000000000'
sample 'stat --prometheus prints versions as the labels of hashbelt_build_info' \
	"hashbelt_build_info{version=\"$(hbctl version --json |
		sed 's/.*"version":"\([^"]*\)".*/\1/')\",interface=\"1\"} 1"
sample 'stat --prometheus prints the limit of the module' \
	"hashbelt_module_max_bytes $(cat $limit/max_bytes)"
sample 'stat --prometheus prints the most belts of the module' \
	"hashbelt_module_max_belts $(cat $limit/max_belts)"
result 'stat --prometheus prints the memory of the module' \
	"$(grep -q '^hashbelt_module_used_bytes [1-9]' "$temporary/out" || echo 'no such sample')"
sample 'stat --all --prometheus prints the number of belts' \
	"hashbelt_belts $(hbctl belts --json | wc -l)"
sample 'stat --prometheus escapes the name of a belt' 'hashbelt_entries{belt="a\"b\\c"} 0'
sample 'stat --prometheus prints a name in UTF-8' 'hashbelt_entries{belt="grün"} 0'
sample 'stat --prometheus prints a name that is not UTF-8 in base64' \
	'hashbelt_entries{belt_base64="eP8="} 0'
run hbctl -b late stat --prometheus
result 'stat --prometheus of one belt prints the valid format' "$(check_prometheus)"
result 'stat --prometheus of one belt prints no other' "$(grep 'belt="' "$temporary/out" |
	grep -v '{belt="late"')"
result 'stat --prometheus of one belt prints no number of belts' \
	"$(grep '^hashbelt_belts' "$temporary/out")"

chmod 666 /dev/hashbelt
run nobody stat --all --prometheus
result 'user nobody: stat --all --prometheus prints the valid format' "$(check_prometheus)"
result 'user nobody: stat --prometheus leaves out the memory of the module' \
	"$(grep '^hashbelt_module_used_bytes' "$temporary/out")"
sample 'user nobody: stat --prometheus prints the limit of the module' \
	"hashbelt_module_max_bytes $(cat $limit/max_bytes)"
sed -n 's/^.*{belt="\([^"]*\)".*/\1/p' "$temporary/out" | sort -u >"$temporary/names"
mv "$temporary/names" "$temporary/out"
printf '%s\n' all own set shown >"$temporary/wanted"
result 'user nobody: stat --all --prometheus prints readable belts only' "$(same)"
chmod 600 /dev/hashbelt

# The work of a scrape, as the kernel's trace of system calls shows it
tracing=/sys/kernel/tracing
[ -d $tracing/events ] || mount -t tracefs tracefs $tracing
ioctls=$tracing/events/syscalls/sys_enter_ioctl/enable

# calls OPTION... - print the ioctls that stat with these options makes, one a line: their numbers. Newer
# kernels write 0x before a number.
calls() {
	echo >$tracing/trace
	echo 1 >$ioctls
	# shellcheck disable=SC2016 # the inner shell expands it
	sh -c 'echo $$ >"$0/set_event_pid" && exec hbctl stat "$@"' $tracing "$@" >/dev/null
	echo 0 >$ioctls
	echo >$tracing/set_event_pid
	sed -n 's/.*sys_ioctl(.*cmd: \(0x\)\{0,1\}\([0-9a-f]*\),.*/\2/p' $tracing/trace
}

# fill NUMBER - let the belt have so many entries
fill() {
	on clear
	seq "$1" | sed 's/$/\tx/' | on load - 2>/dev/null || exit 1
}

belt scraped --ttl 1h --buckets 10
fill 1000
calls scraped --prometheus >"$temporary/thousand"
calls scraped --prometheus --spread >"$temporary/few"
fill 100000
is 'a belt has 100,000 entries' 0 100000 '' on size
calls scraped --prometheus >"$temporary/out"
mv "$temporary/thousand" "$temporary/wanted"
result 'stat --prometheus makes the same ioctls for 1,000 and for 100,000 entries' "$(same)"
result 'stat --prometheus makes at most 10 ioctls, and not BUCKETS' "$(
	awk '/..be27$/ { print "BUCKETS" } END { if (!NR || NR > 10) print NR " ioctls" }' \
		"$temporary/out")"
calls scraped --prometheus --spread >"$temporary/out"
result 'stat --prometheus --spread makes more ioctls for 100,000 entries than for 1,000' "$(
	few=$(wc -l <"$temporary/few") many=$(wc -l <"$temporary/out")
	[ "$few" -gt 0 ] && [ "$many" -gt "$few" ] || echo "$few ioctls, then $many")"
hbctl destroy scraped
finish
