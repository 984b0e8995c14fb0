#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""shell_test.py - what a user of "make shell" finds, on a terminal.

Boots the payload of that guest, types the commands of docs/tutorial.md and compares what they print, looks at
hbctl doctor and at a manual page, presses the tab key where a belt is named like a command, and closes the
terminal. Leaves another guest by "exit".
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{TOP}/tests")

from result import Results  # noqa: E402

# Seconds after which a guest that prints nothing has failed.
SILENCE = 300
PROMPT = r"guest:[^\n]*# $"


class Guest:
    """The guest, as a terminal shows it. The leader of the session ignores that the terminal closes."""

    def __init__(self, directory):
        self.directory = directory
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            # Before the guest asks for the size.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 500, 0, 0))
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.environ["TMPDIR"] = directory
            os.execlp("sh", "sh", "-c", '"$@"; true', "sh", f"{TOP}/tests/vm/run.sh", "--interactive",
                      f"{TOP}/.cache/build/payload-shell", "sh", "./begin.sh")
        self.begun = self.read()

    def read(self, before=""):
        """Read up to the next prompt behind what matches."""
        text = ""
        while not re.search(before + PROMPT, text):
            ready, _, _ = select.select([self.terminal], [], [], SILENCE)
            more = b""
            with contextlib.suppress(OSError):
                more = os.read(self.terminal, 65536) if ready else b""
            if not more:
                sys.exit(f"Bail out! the guest does not answer: {text[-2000:]!r}")
            text += more.decode("utf-8", "replace")
        return text

    def type(self, line):
        """Type a line. Returns what it prints, without colours and empty lines."""
        os.write(self.terminal, f"{line}\r".encode())
        # bash prints this when it has read the line, and its opposite before the prompt. The tab key lists words, and
        # shows the prompt again.
        text = self.read("\x1b\\[\\?2004l(?s:.*)")
        text = text.partition("\x1b[?2004l")[2].rpartition("\x1b[?2004h")[0]
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
        return [part for part in (part.strip("\r") for part in text.split("\n")) if part]

    def emulators(self):
        """The processes that have files of this guest open."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if f"{self.directory}/".encode() in file.read() and int(name) != os.getpid():
                        found.append(int(name))
        return found

    def leave(self):
        """Type "exit", and wait for the end. Returns what is printed behind that."""
        os.write(self.terminal, b"exit\r")
        text = b""
        with contextlib.suppress(OSError):
            while select.select([self.terminal], [], [], SILENCE)[0]:
                text += os.read(self.terminal, 65536)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)
        return text.decode().partition("\x1b[?2004l")[2].split()

    def close(self):
        """Close the terminal, and wait until the emulator has ended. Returns what is left."""
        if not self.emulators():
            return ["found no emulator before the terminal was closed"]
        os.close(self.terminal)
        end = time.monotonic() + 30
        while self.emulators() and time.monotonic() < end:
            time.sleep(0.1)
        left = self.emulators()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return [f"still there: {left}"] if left else []


class Test(Results):
    """The checks of the guest."""

    def same(self, name, expected, found):
        """Report a check of two lists of lines."""
        self.result(name, [] if expected == found else [f"expected {expected}", f"found {found}"])


def tutorial():
    """The commands of the tutorial, each with the lines that it prints."""
    shown = subprocess.run(["awk", "-v", "kinds=guest", "-f", f"{TOP}/tests/docs/shown.awk",
                            f"{TOP}/docs/tutorial.md"], check=True, stdout=subprocess.PIPE, text=True).stdout
    commands = []
    for line in shown.splitlines():
        kind, _, text = line.partition("\t")
        if kind == "=":
            commands[-1][1].append(text)
        elif kind == "+":
            commands[-1][0] += f"\n{text}"
        else:
            commands.append([text.partition("\t")[2], []])
    return commands


def main():
    """Run all checks, and return the exit status."""
    test = Test()
    with tempfile.TemporaryDirectory() as directory:
        guest = Guest(directory)
        test.result("the guest says how to leave", [] if "Leave with exit" in guest.begun else [guest.begun])
        found = guest.type("hbctl doctor; echo status $?")
        test.result("hbctl doctor has no advice",
                    [] if found[-1:] == ["status 0"] and len(found) > 8 else found)
        commands = tutorial()
        test.result("docs/tutorial.md shows at least 20 commands",
                    [] if len(commands) >= 20 else [f"found {len(commands)}"])
        for command, expected in commands:
            test.same(f"tutorial: {command}", expected, guest.type(command))
        test.same("man prints a manual page", ["1"], guest.type("man hbctl | grep -c '^HBCTL(1) .*HBCTL(1)$'"))
        test.same("man finds a page of a section", ["1"], guest.type("man 4 hashbelt | grep -c '^HASHBELT(4).*4)$'"))
        for name in ("$(touch ran)", "co:lon x", "*"):
            guest.type(f"hbctl create '{name}'")
        test.same("tab completes a belt that is named like a command", ["NAME", "$(touch ran)"],
                  guest.type("hbctl info \\$\t-o NAME"))
        test.same("tab completes a belt with a colon and a blank", ["NAME", "co:lon x"],
                  guest.type("hbctl info co:\t-o NAME"))
        test.same("tab completes a belt behind -b", ["0"], guest.type("hbctl -b \\*\tsize"))
        guest.type("hbctl -b \t\t\x15")
        test.same("the tab key has run no name", ["status 1"], guest.type("ls ran 2>/dev/null; echo status $?"))
        test.result("the guest ends when its terminal closes", guest.close())
        test.same("a guest that is left by exit prints nothing more", ["exit"], Guest(directory).leave())
    return test.finish()


if __name__ == "__main__":
    sys.exit(main())
