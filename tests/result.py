# SPDX-License-Identifier: GPL-2.0-only
"""Imported by tests in Python whose checks collect what is wrong; prints TAP. result.sh is for the shell."""

import sys


class Results:
    """The checks of a program, as lines of TAP."""

    def __init__(self):
        self.count = self.failures = 0

    def result(self, name, wrong):
        """Report a check; it passes if the list of what is wrong is empty."""
        self.count += 1
        self.failures += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {self.count} - {name}")
        for line in wrong:
            print(f"#   {line}")
        sys.stdout.flush()

    def finish(self):
        """Print the plan, after the last check. Returns the exit status."""
        print(f"1..{self.count}")
        return 1 if self.failures else 0
