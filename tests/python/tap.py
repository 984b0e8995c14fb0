# SPDX-License-Identifier: GPL-2.0-only
"""Used by the tests of the package hashbelt: belts, processes, and results as TAP.

The time of each belt is halted and moved by hand, so what is left of a time-to-live is exact.
"""

import asyncio
import itertools
import os
import sys
import threading
import time
import traceback
import unittest
from concurrent.futures import Future

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

    def one_computes(self, ask, count):
        """Of so many processes that ask at once one computes: ASK returns how many did."""
        def work(say):
            say("begun")
            say(ask())

        children = [Child(work) for _ in range(count)]
        self.assertEqual([child.hear() for child in children], ["begun"] * count)
        self.assertEqual([child.hear() for child in children], ["1"] * count)
        self.assertEqual([child.status() for child in children], [0] * count)


class Child:
    """A child that runs a function, and says when it has come to a place."""

    def __init__(self, function):
        said, say = os.pipe()
        self._lines = os.fdopen(said)
        self.pid = os.fork()
        if self.pid:
            os.close(say)
            return
        status = 1
        try:
            os.close(said)
            function(lambda text="": os.write(say, f"{text}\n".encode()))
            status = 0
        except BaseException:
            os.write(say, traceback.format_exc().encode())
        finally:
            os._exit(status)

    def hear(self):
        """Wait for what the child says: a line."""
        return self._lines.readline().rstrip("\n")

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


def run_async(coroutine):
    """The result of a coroutine."""
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE))


class Slow:
    """A function that returns, or raises, its result when it is told to go on."""

    def __init__(self, result):
        self._result = result
        self._begun, self._goes_on = threading.Event(), threading.Event()

    def __call__(self):
        self._begun.set()
        self._goes_on.wait(PATIENCE)
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def wait(self):
        """Wait until it is called."""
        if not self._begun.wait(PATIENCE):
            raise AssertionError("the function is not called")

    def go_on(self):
        """Let it go on."""
        self._goes_on.set()


def in_thread(function):
    """Run a function in a thread. Returns a function that waits for its result."""
    future = Future()

    def run():
        try:
            future.set_result(function())
        except BaseException as error:  # for the test
            future.set_exception(error)

    def wait():
        return future.result(PATIENCE)

    wait.runs = lambda: not future.done()
    threading.Thread(target=run, daemon=True).start()
    return wait
