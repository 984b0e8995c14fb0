# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck disable=SC2154,SC2317 # $temporary is tap.sh's; called by is and at_last
#
# screen.sh - sourced after tap.sh: a terminal, which tmux is.
#
#   screen [STEP]... -- COMMAND...	run a command on a terminal of its own, of 80 columns and 24 lines, as $TERM
#
# The steps, in order:
#
#	see TEXT	wait until TEXT is on the screen
#	lose TEXT	wait until TEXT is not on the screen
#	type KEYS	press keys
#	run COMMAND	run a shell command
#	size COLUMNSxLINES	give the terminal another size
#	signal NUMBER	send a signal
#	print		print the screen, without blanks at the ends of its lines
#	end		wait until the command ends, and print how it leaves the terminal
#	hangup		close the terminal
#
# The exit status is that of the command, or 99 if a step failed. The command's stderr is not the terminal.
#
# The result does not depend on timing: a screen is complete when the command waits for keys. Then a mark, a title, is
# written to the terminal behind all output of the command, and tmux has drawn that when it shows the mark.

marks=0
locales=$(cd "$(dirname "$0")/../.." && echo "$PWD/locale")
# The processor's number of the system call ppoll.
case $(uname -m) in
x86_64) ppoll=271 ;;
aarch64) ppoll=73 ;;
s390x) ppoll=302 ;;
esac

# The leader of the session on the terminal: runs the command, and stays until the terminal closes.
cat >"$temporary/leader" <<'END'
trap : INT
trap 'closed=yes' HUP
unset TERM LOCPATH
[ "${SCREEN_TERM+set}" ] && export TERM="$SCREEN_TERM"
until [ "$1" = -- ]; do
	shift
done
shift
stty -g >"$screen/before"
sh -c 'echo $$ >"$screen/pid"; exec "$@"' sh "$@" 2>"$screen/said"
echo $? >"$screen/code"
stty -g >"$screen/after" 2>/dev/null
mv "$screen/code" "$screen/status"
until [ "$closed" ]; do
	sleep 1
done
END

# tmux needs a locale of UTF-8, which the commands do not have.
mux() {
	LOCPATH=$locales /usr/bin/tmux -S "$screen/socket" -f /dev/null "$@"
}

# sleeps_or_ended - whether the command waits for a key, or has ended
sleeps_or_ended() {
	[ -s "$screen/status" ] || grep -q "^$ppoll " "/proc/$(cat "$screen/pid")/syscall" 2>/dev/null
}

# is_drawn - whether tmux has drawn all up to the last mark. Sets cursor, and stores the screen.
is_drawn() {
	mux display-message -p '#{pane_title} #{cursor_flag}' \; capture-pane -p >"$screen/drawn"
	read -r title cursor <"$screen/drawn"
	[ "$title" = $marks ]
}

# settle - wait until all output of the command is drawn.
settle() {
	at_last sleeps_or_ended || return
	marks=$((marks + 1))
	printf '\033]2;%s\007' $marks >"$terminal" && at_last is_drawn
}

# shows TEXT - whether the text is on the screen
shows() {
	sed 1d "$screen/drawn" | grep -qF -- "$1"
}

# await COMMAND... - wait until the command succeeds on the screen. The program may not have woken before the
# first settle.
await() {
	looks=0
	while settle; do
		if "$@"; then
			settle
			return
		fi
		looks=$((looks + 1))
		[ $looks -lt 300 ] && [ ! -s "$screen/status" ] || return 1
		sleep 0.05
	done
	return 1
}

lacks() {
	! shows "$1"
}

# step NAME [ARGUMENT] - take a step
# shellcheck disable=SC2046 # numbers
step() {
	case $1 in
	see) await shows "$2" ;;
	lose) await lacks "$2" ;;
	type) mux send-keys -H $(printf %s "$2" | od -An -v -t x1) ;;
	run) sh -c "$2" ;;
	size) mux resize-window -x "${2%x*}" -y "${2#*x}" ;;
	signal) kill "-$2" "$(cat "$screen/pid")" ;;
	print) sed 1d "$screen/drawn" ;;
	end)
		at_last test -s "$screen/status" && settle || return
		cmp -s "$screen/before" "$screen/after" && modes='as before' || modes=changed
		[ "$cursor" = 1 ] && cursor=visible || cursor=hidden
		echo "modes $modes, cursor $cursor"
		;;
	hangup) mux kill-server && at_last test -s "$screen/status" ;;
	esac
}

screen() {
	screen=$(mktemp -d "$temporary/screen.XXXXXX")
	export screen
	env -u COLUMNS -u LINES ${TERM+SCREEN_TERM="$TERM"} LOCPATH="$locales" /usr/bin/tmux -S "$screen/socket" \
		-f /dev/null set -g status off \; new-session -d -x 80 -y 24 sh "$temporary/leader" "$@" &&
		terminal=$(mux display-message -p '#{pane_tty}') && at_last test -s "$screen/pid" || return 99
	while [ "$1" != -- ]; do
		step "$@" || {
			echo "screen: in vain: $1 $2" >&2
			mux kill-server
			return 99
		}
		case $1 in
		print | end | hangup) shift ;;
		*) shift 2 ;;
		esac
	done
	mux kill-server 2>/dev/null
	cat "$screen/said" >&2
	return "$(cat "$screen/status")"
}
