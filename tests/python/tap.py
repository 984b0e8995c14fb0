# SPDX-License-Identifier: GPL-2.0-only
"""Used by the tests of the package hashbelt: belts, processes, and results as TAP.

The time of each belt is halted and moved by hand, so what is left of a time-to-live is exact.
"""

import itertools
import os
import sys
import threading
import time
import traceback
import unittest

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "bindings", "python"))

import hashbelt  # noqa: E402

PATIENCE = 240  # what has not come after so many seconds does not come

_numbers = itertools.count()
_begun = []


class Tap:
    """A plugin of pytest that prints TAP: the docstring of each test, and why it has failed."""

    def __init__(self):
        self._names = {}
        self._number = 0
        self._why = ""

    def pytest_collectreport(self, report):
        if report.failed:
            print(f"Bail out! {report.longreprtext}")

    def pytest_collection_finish(self, session):
        self._names = {item.nodeid: item.obj.__doc__ or item.name for item in session.items}
        print(f"1..{len(self._names)}", flush=True)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self._why += report.longreprtext
        if report.when != "teardown":
            return
        self._number += 1
        print(f"{'not ' * bool(self._why)}ok {self._number} - {self._names[report.nodeid]}")
        for line in self._why.splitlines():
            print(f"# {line}")
        sys.stdout.flush()
        self._why = ""


def main():
    """Run the tests of the program. pytest imports it once more: then this does nothing."""
    if not _begun:
        _begun.append(True)
        sys.exit(pytest.main([
            "-p", "no:terminal", "-p", "no:cacheprovider", "--assert=plain", "--capture=no",
            "-o", f"faulthandler_timeout={PATIENCE}", sys.modules["__main__"].__file__,
        ], plugins=[Tap()]))


class BeltCase(unittest.TestCase):
    """Tests with belts."""

    def make(self, serializer=None, **settings):
        """A new belt, whose time stands still."""
        name = f"python-{os.getpid()}-{next(_numbers)}"
        settings.setdefault("ttl", 3600)
        hashbelt.create(name, **settings)
        self.addCleanup(hashbelt.destroy, name)
        belt = hashbelt.open(name, serializer)
        self.addCleanup(belt.close)
        belt.halt()
        return belt

    def raises(self, kind, text, function, *args, **kwargs):
        """The exception of a call has this class, and these words."""
        with self.assertRaises(kind) as caught:
            function(*args, **kwargs)
        self.assertIn(text, str(caught.exception))
        return caught.exception


class Child:
    """A child that runs a function, and says when it has come to a place."""

    def __init__(self, function):
        self._said, say = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(say)
            return
        status = 1
        try:
            os.close(self._said)
            function(lambda text="": os.write(say, f"{text}\n".encode()))
            status = 0
        except BaseException:
            os.write(say, traceback.format_exc().encode())
        finally:
            os._exit(status)

    def hear(self):
        """Wait for what the child says: a line."""
        text = b""
        while not text.endswith(b"\n"):
            more = os.read(self._said, 1)
            if not more:
                break
            text += more
        return text.decode().rstrip("\n")

    def all(self):
        """All that the child still says, at its end."""
        with os.fdopen(self._said) as said:
            text = said.read()
        return text

    def kill(self):
        """Kill the child, and wait until its descriptors are closed."""
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)

    def status(self):
        """The child's exit status."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def at_last(condition):
    """Whether a condition becomes true."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


class in_thread:
    """A function that runs in a thread. A call waits for its result."""

    def __init__(self, function):
        self._function = function
        self._result = self._error = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self._result = self._function()
        except BaseException as error:  # for the test
            self._error = error

    def runs(self):
        """Whether the function has not ended."""
        return self._thread.is_alive()

    def __call__(self):
        self._thread.join(PATIENCE)
        if self.runs():
            raise AssertionError("the thread has not ended")
        if self._error is not None:
            raise self._error
        return self._result
