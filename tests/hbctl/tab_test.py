#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""tab_test.py PROGRAM - the tab key in bash, zsh and fish, behind the words of hbctl, hbserve or hbfollow.

Each shell runs on a terminal of its own, with the script for completion that PROGRAM prints where users
have it. The command that it runs is a fake: for completion it prints names of belts, and else it prints
its arguments. So a test presses tab, then enter, and looks at the arguments: a name has to arrive as it
is, and the shell must not have run or expanded it. Names that would run a command make a file.
"""

import contextlib
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import fcntl
import tempfile
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from result import Results  # noqa: E402

# Seconds after which a shell that does not answer has failed.
TIMEOUT = 30
READY = "READY>"

NAMES = [
    "sessions", "$(touch ran)", "`touch ran`", "$HOME", "${HOME}", "$'x'", "x;touch ran", "x|touch ran",
    "x&touch ran", "x>ran", "<(touch ran)", "(touch ran)", "*", "?", "[a-z]*", "{x,y}", "a b", "two  blanks",
    " lead", "trail ", "it's", "'quoted'", "'", 'say"hi"', '"', "co:lon:x", ":", "back\\slash", "\\", "\\t",
    "!bang", "a!b", "~", "~root", "#hash", "eq=ual", "=ls", "at@home", "%1", "^x^y", "a,b", "\u00fcmlaut",
    "\u65e5\u672c", "-dash", "--json",
]
# Those of which each has to be quoted in another way.
FEW = ["$(touch ran)", "*", "a b", "it's", 'say"hi"', "co:lon:x", "back\\slash", "!bang", "~root", "-dash"]

FAKE = r"""#!/bin/sh
case $1 in
completion | belts) exec cat "$NAMES" ;;
esac
printf '{{'
for word; do
	printf ' '
	printf %s "$word" | od -An -v -t x1 | tr -d ' \n'
done
echo ' }}'
"""


class Shell:
    """A shell on a terminal, in an empty directory of its own."""

    def __init__(self, home, program):
        self.home, self.program = home, program
        self.work = f"{home}/work"
        self.names = f"{home}/names"
        self.shown = ""
        self.start()

    def arguments(self):
        """The command line of the shell, once its files are in the home directory."""
        raise NotImplementedError

    def write(self, path, text):
        """Write a file below the home directory."""
        os.makedirs(os.path.dirname(f"{self.home}/{path}"), exist_ok=True)
        with open(f"{self.home}/{path}", "w", encoding="utf-8") as file:
            file.write(text)

    def script(self, shell):
        """The script for completion."""
        words = ["completion", shell] if self.program == "hbctl" else ["--completion", shell]
        return subprocess.run([self.program, *words], check=True, stdout=subprocess.PIPE, text=True).stdout

    def start(self):
        """Start the shell, and wait for its prompt."""
        os.makedirs(self.work, exist_ok=True)
        command = self.arguments()
        environment = {
            "HOME": self.home, "PATH": f"{self.home}/bin:/usr/bin:/bin", "TERM": "xterm",
            "LC_ALL": "C.UTF-8", "NAMES": self.names,
        }
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.chdir(self.work)
            os.execvpe(command[0], command, environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 500, 0, 0))
        self.wait(READY)

    def stop(self):
        """End the shell."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)

    def wait(self, pattern):
        """Read what the shell shows until it matches, and return the match; None: it never does."""
        end = time.monotonic() + TIMEOUT
        shown = b""
        while True:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            try:
                more = os.read(self.terminal, 65536) if ready else b""
            except OSError:
                more = b""
            shown += more
            # fish asks which terminal this is, and waits for the answer.
            if b"\x1b[c" in more or b"\x1b[0c" in more:
                os.write(self.terminal, b"\x1b[?62c")
            self.shown = shown.decode("utf-8", "replace")
            match = re.search(pattern, self.shown)
            if match or not more:
                return match

    def press(self, keys):
        """Press keys, and return the arguments of the program that runs at last; None: none does."""
        os.write(self.terminal, keys.encode())
        match = self.wait(r"\{\{((?: [0-9a-f]*)*) \}\}(?s:.*)" + READY)
        if not match:
            self.stop()
            self.start()
            return None
        return [bytes.fromhex(word).decode("utf-8", "replace") for word in match[1].split(" ")[1:]]

    def offer(self, *names):
        """Let the fake print these names of belts."""
        self.write("names", "".join(f"{name}\n" for name in names))


class Bash(Shell):
    name = "bash"
    rc = ""

    def arguments(self):
        self.write("script", self.script("bash"))
        self.write("rc", f"PS1='{READY}'\n. ~/script\n{self.rc}")
        return ["bash", "--noprofile", "--rcfile", f"{self.home}/rc", "-i"]


class BashWithColons(Bash):
    """Many users have it so: names of remote files complete."""
    name = "bash without : and = in COMP_WORDBREAKS"
    rc = "COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]}\n"


class Zsh(Shell):
    name = "zsh"

    def arguments(self):
        self.write(f"functions/_{self.program}", self.script("zsh"))
        self.write(".zshrc", f"PS1='{READY}'\nfpath=(~/functions $fpath)\nautoload -U compinit\n"
                   "compinit -u -D\n")
        return ["zsh", "-i"]


class Fish(Shell):
    name = "fish"

    def arguments(self):
        # fish makes it in the background at its first start, from all manual pages.
        os.makedirs(f"{self.home}/.local/share/fish/generated_completions", exist_ok=True)
        self.write(f".config/fish/completions/{self.program}.fish", self.script("fish"))
        self.write(".config/fish/config.fish",
                   f"function fish_prompt; echo -n '{READY}'; end\nset -g fish_greeting\n")
        return ["fish", "-i"]


class Test(Results):
    """The checks of one program."""

    def __init__(self, program):
        super().__init__()
        self.program = program

    def complete(self, shell, line, words):
        """Press the keys of a line, and then enter. Returns what is wrong if the words do not arrive."""
        found = shell.press(f"{line}\r")
        wrong = [] if found == words else [f"typed {line!r}, expected {words}, found {found}"]
        if not found:
            wrong.append(f"shown: {shell.shown!r}")
        made = os.listdir(shell.work)
        for file in made:
            os.remove(f"{shell.work}/{file}")
        return wrong + [f"typed {line!r}, which made the file {file!r}" for file in made]

    def each_name(self, shell, typed, words, names):
        """Complete behind these words each of the names that stands alone, with a tab."""
        wrong = []
        for name in names:
            # A word with a dash is an option. fish inserts a ~ as it is, and so is not offered one.
            if name.startswith("-") and words[-1:] == ["info"] or name.startswith("~") and shell.name == "fish":
                continue
            shell.offer(name)
            wrong += self.complete(shell, f"{self.program} {typed} \t", [*words, name])
        self.result(f"{shell.name}: tab behind '{self.program} {typed}' completes each name to itself, and "
                    "runs none", wrong)

    def begun(self, shell, typed, words):
        """Complete names of which the first character is typed, in each way to quote it."""
        wrong = []
        for name in FEW:
            # fish takes a word with a dash for an option, also as an argument.
            if name.startswith("-") and shell.name == "fish":
                continue
            first = name[0]
            quoted = ["'" + first] if first not in "'\\" else []
            if first != "!":
                quoted += ['"' + ("\\" if first in '$`"\\' else "") + first]
            quoted += [first if first.isalnum() or first == "-" else "\\" + first]
            for begin in quoted:
                shell.offer(name)
                wrong += self.complete(shell, f"{self.program} {typed} {begin}\t", [*words, name])
        self.result(f"{shell.name}: tab behind the first character of a name, in quotes, completes it",
                    wrong)

    def listed(self, shell, typed):
        """List all names, and then leave the line."""
        shell.offer(*NAMES)
        wrong = self.complete(shell, f"{self.program} {typed} \t\t\x15{self.program} end", ["end"])
        self.result(f"{shell.name}: tab behind '{self.program} {typed}' with many names runs none", wrong)

    def apart(self, shell, typed, words):
        """Complete names that begin alike."""
        wrong = []
        shell.offer("co:lon", "co:lumn", "co:st", "a b c", "a b d", "$(touch ran) x", "$(touch ran) y")
        for begin, name in (("co:s", "co:st"), ("co\\:lu", "co:lumn"), ("'co:lo", "co:lon"),
                            ("a\\ b\\ d", "a b d"), ("'a b c", "a b c"), ('"a b c', "a b c"),
                            ("\\$\\(touch\\ ran\\)\\ y", "$(touch ran) y"),
                            ("'$(touch ran) x", "$(touch ran) x")):
            wrong += self.complete(shell, f"{self.program} {typed} {begin}\t", [*words, name])
        self.result(f"{shell.name}: tab completes names that begin alike, with colons and blanks in them",
                    wrong)

    def files(self, shell, typed, words):
        """Complete a file that another user has named."""
        wrong = []
        for name in ("$(touch ran)", "a b", "x;touch ran"):
            os.makedirs(f"{shell.home}/files")
            shell.write(f"files/{name}", "")
            wrong += self.complete(shell, f"{self.program} {typed} ../files/\t", [*words, f"../files/{name}"])
            os.remove(f"{shell.home}/files/{name}")
            os.rmdir(f"{shell.home}/files")
        self.result(f"{shell.name}: tab behind '{self.program} {typed}' completes names of files, and runs "
                    "none", wrong)

    def hbctl(self, shell):
        """The lines of hbctl."""
        self.each_name(shell, "-b", ["-b"], NAMES)
        self.each_name(shell, "info", ["info"], FEW)
        self.each_name(shell, "destroy --", ["destroy", "--"], FEW)
        self.begun(shell, "-b", ["-b"])
        self.listed(shell, "info")
        self.apart(shell, "info", ["info"])
        self.files(shell, "load", ["load"])
        self.files(shell, "put k --from", ["put", "k", "--from"])
        shell.offer("-dash", "other")
        wrong = self.complete(shell, "hbctl info \t", ["info", "other"])
        self.result(f"{shell.name}: a name with a dash in front is no operand without a --", wrong)
        shell.offer("co:lon x")
        wrong = self.complete(shell, "hbctl -b 'co:lon x' siz\tco\t", ["-b", "co:lon x", "size", "co:lon x"])
        self.result(f"{shell.name}: tab behind a name with a colon completes commands, and their operands",
                    wrong)

    def server(self, shell):
        """The lines of hbserve and hbfollow."""
        self.each_name(shell, "--belt", ["--belt"], FEW)
        self.listed(shell, "--belt")
        self.files(shell, "--tls-ca", ["--tls-ca"])

    def run(self):
        """Run all checks, and return the exit status."""
        for shell in (Bash, BashWithColons, Zsh, Fish):
            with tempfile.TemporaryDirectory() as home:
                for name in ("hbctl", "hbserve", "hbfollow"):
                    os.makedirs(f"{home}/bin", exist_ok=True)
                    with open(f"{home}/bin/{name}", "w", encoding="utf-8") as file:
                        file.write(FAKE)
                    os.chmod(f"{home}/bin/{name}", 0o755)
                started = shell(home, self.program)
                if self.program == "hbctl":
                    self.hbctl(started)
                else:
                    self.server(started)
                started.stop()
        return self.finish()


if __name__ == "__main__":
    sys.exit(Test(sys.argv[1]).run())
