# SPDX-License-Identifier: GPL-2.0-only
"""The common part of the runners in Python: steps, variables, comparison, and results as TAP.

A runner is a class with a method do_NAME() for each operation NAME. It gets a Step, and returns the
results by their names, or raises Refused. Without a method, the cases that have the operation fail.
"""

import errno
import os
import sys

import cases


class Refused(Exception):
    """An operation has failed: the name of its error, and results that come with it."""

    def __init__(self, name, **found):
        super().__init__(name)
        self.name = name
        self.found = found


class Wrong(Exception):
    """A step has not done what the case says."""


def error_name(number):
    """The name of an error number. That of ENOTSUP is the same."""
    return "EOPNOTSUPP" if number == errno.EOPNOTSUPP else errno.errorcode.get(number, str(number))


def encode(value):
    """The bytes of a key, a value or an owner."""
    return value.encode() if isinstance(value, str) else bytes(value)


def seconds(ms):
    """A time in milliseconds as cases have it, None for never."""
    if ms is None:
        return "never"
    return ms // 1000 if ms % 1000 == 0 else ms / 1000


class Step:
    """A step of a case: the arguments, with variables replaced by their values."""

    def __init__(self, members, variables):
        self.members = members
        self._variables = variables

    def _resolve(self, value):
        if isinstance(value, str) and value.startswith("$"):
            return self._variables[value[1:]]
        return value

    def get(self, name, default=None):
        """An argument, or the default."""
        return self._resolve(self.members.get(name, default))

    def bytes(self, name):
        """An argument that is bytes."""
        return encode(self.members[name])

    def all_bytes(self, name):
        """An argument that is a list of bytes."""
        return [encode(value) for value in self.members[name]]

    def who(self):
        """The name of the handle, "main" if the step names none."""
        return self.members.get("as", "main")

    def expected(self, name):
        """The length of a result that is a list: events come when the kernel has reported them."""
        return len(self.members.get("returns", {}).get(name, ()))

    def compare(self, wanted, found, where):
        """Raise Wrong unless the result is as wanted."""
        wanted = self._resolve(wanted)
        if isinstance(wanted, dict) and set(wanted) == {"above"}:
            least = self._resolve(wanted["above"])
            if not isinstance(found, int) or found <= least:
                raise Wrong(f"{where}: expected more than {least}, found {found!r}")
        elif isinstance(wanted, dict):
            for name, value in wanted.items():
                if not isinstance(found, dict) or name not in found:
                    raise Wrong(f"{where}: expected {name}, found {found!r:.200}")
                self.compare(value, found[name], f"{where}.{name}" if where else name)
        elif isinstance(wanted, list):
            if not isinstance(found, list) or len(found) != len(wanted):
                raise Wrong(f"{where}: expected {len(wanted)} elements, found {found!r:.200}")
            for i, value in enumerate(wanted):
                self.compare(value, found[i], f"{where}[{i}]")
        else:
            self._compare_plain(wanted, found, where)

    @staticmethod
    def _compare_plain(wanted, found, where):
        same = type(wanted) is type(found) and wanted == found
        if isinstance(found, bytes):
            same = isinstance(wanted, (str, bytes)) and encode(wanted) == found
        elif isinstance(found, (int, float)) and isinstance(wanted, (int, float)):
            same = isinstance(found, bool) == isinstance(wanted, bool)
            same = same and abs(wanted - found) < 1e-6
        if not same:
            raise Wrong(f"{where}: expected {wanted!r:.100}, found {found!r:.100}")


class Case:
    """One case: runs its steps on the operations of a runner."""

    def __init__(self, case, runner):
        self._case = case
        self._runner = runner
        self._variables = {}

    def _carry_out(self, members):
        """Run a step. Raises Wrong, and what the runner raises."""
        step = Step(members, self._variables)
        wanted = members.get("error")
        try:
            operation = getattr(self._runner, "do_" + members["do"], None)
            if operation is None:
                raise Wrong(f"the runner has no operation {members['do']}")
            found = operation(step) or {}
            if wanted:
                raise Wrong(f"expected {wanted}, but there was no error")
        except Refused as refused:
            if refused.name != wanted:
                raise Wrong(f"expected {wanted or 'no error'}, found {refused.name}") from None
            found = refused.found
        step.compare(members.get("returns", {}), found, "")
        for variable, name in members.get("save", {}).items():
            if name not in found:
                raise Wrong(f"expected {name}, found {found!r:.200}")
            self._variables[variable] = found[name]

    def run(self):
        """Run all steps. Returns a description of what is wrong; nothing if the case holds."""
        place = "the belt"
        try:
            self._runner.begin(self._case.get("belt", {}))
            for i, members in enumerate(self._case["steps"], 1):
                place = f"step {i}, {members['do']}"
                self._carry_out(members)
        except Wrong as wrong:
            return f"{place}: {wrong}"
        except Exception as error:
            return f"{place}: {type(error).__name__}: {error}"
        finally:
            self._runner.end()
        return ""


def main(runner):
    """Run the cases of the file that is the last argument of the program."""
    found = cases.read(sys.argv[-1])["cases"]
    print(f"1..{len(found)}")
    failed = 0
    for i, case in enumerate(found, 1):
        wrong = Case(case, runner).run()
        failed += wrong != ""
        print(f"{'not ok' if wrong else 'ok'} {i} - {case['name']}")
        for line in wrong.splitlines():
            print(f"# {line}")
        sys.stdout.flush()
    runner.close()
    sys.exit(failed > 0)


class as_user:
    """With this, the process has another effective user, unless that is None."""

    def __init__(self, user):
        self._user = user

    def __enter__(self):
        if self._user is not None:
            self._groups = os.getgroups()
            os.setgroups([])
            os.setegid(self._user)
            os.seteuid(self._user)

    def __exit__(self, kind, error, trace):
        if self._user is not None:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(self._groups)
