#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# manual.t - the EXAMPLES of the manual page that use a database.
set -u
unset CDPATH

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

tests=$(cd "$(dirname "$0")/.." && pwd)
awk -v kinds=store -f "$tests/docs/shown.awk" "$tests/../docs/hbctl.1" >"$temporary/shown"

# shellcheck source=tests/store/server.sh
. "$(dirname "$0")/server.sh"

# The examples name a database "app", and a program of their user.
# shellcheck disable=SC2154 # server.sh's
export PGHOST="$data" PGPORT="$port" PGUSER=hashbelt PATH="$temporary:$PATH"
printf '#!/bin/sh\necho made >>%s/backup\n' "$temporary" >"$temporary/make_backup"
chmod +x "$temporary/make_backup"
sql 'CREATE DATABASE app'
hbctl lock --store dbname=app --create-table

result "hbctl.1 has an example of a lock in a database" \
	"$(grep -q "^store" "$temporary/shown" || echo "found none")"
while IFS="$(printf '\t')" read -r _ line command <&7; do
	run sh -c "$command"
	result "hbctl.1:$line: $command" "$(check_status 0; check_error '')"
done 7<"$temporary/shown"
is "the example runs its command under the lock" 0 made '' cat "$temporary/backup"
finish
