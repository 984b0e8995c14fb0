# SPDX-License-Identifier: GPL-2.0-only
"""Used by the tests of the package hashbelt: belts, processes, and results as TAP.

The time of each belt is halted and moved by hand, so what is left of a time-to-live is exact.
"""

import faulthandler
import itertools
import os
import sys
import threading
import time
import traceback
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "bindings", "python"))

import hashbelt  # noqa: E402

PATIENCE = 240  # what has not come after so many seconds does not come

_numbers = itertools.count()


class Result(unittest.TestResult):
    """Prints a line of TAP for each test, with its docstring, and the place of a failure."""

    def __init__(self):
        super().__init__()
        self.failed = 0

    def startTest(self, test):
        super().startTest(test)
        self._why = None
        faulthandler.dump_traceback_later(PATIENCE, exit=True, file=sys.stdout)

    def _note(self, error):
        self._why = self._why or "".join(traceback.format_exception(*error))

    def addError(self, test, err):
        self._note(err)

    def addFailure(self, test, err):
        self._note(err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._note(err)

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        name = test.shortDescription() or str(test)
        if self._why is None:
            print(f"ok {self.testsRun} - {name}", flush=True)
            return
        self.failed += 1
        print(f"not ok {self.testsRun} - {name}")
        for line in self._why.splitlines():
            print(f"# {line}")
        sys.stdout.flush()


def main():
    """Run the tests of the program."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{suite.countTestCases()}", flush=True)
    result = Result()
    suite.run(result)
    if suite.countTestCases() != result.testsRun:
        print("Bail out! a class of tests could not begin")
    sys.exit(result.failed > 0 or suite.countTestCases() != result.testsRun)


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
