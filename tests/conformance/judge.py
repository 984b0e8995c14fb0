#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""judge.py NAME|TABLE [COMMAND...] - judge a binding by the cases of the conformance suite.

NAME is a file of runners/, without .json, and TABLE the path of another: the command that runs the
runner, and for each operation that it has the arguments, results (">value") and errors; "*" stands
for all of them.

The runner gets one more argument, a file of cases. It runs each on a new, halted belt named
"conformance", and prints TAP: the plan, and for each case "ok N - NAME" or "not ok N - NAME". It
exits with 1 if one has failed. It has to run all cases whose operations it has, and no other. Among
them are those of wrong.json, whose expectations are wrong: the runner has to fail these. Root runs
this, on a machine with the module.
"""

import json
import os
import re
import stat
import subprocess
import sys
import tempfile

import cases

DEVICE = "/dev/hashbelt"
WRONG = os.path.join(cases.HERE, "wrong.json")


def raw_cases(path, table):
    """The cases of a file that a runner with this table has, as they stand in the file."""
    with open(path, encoding="utf-8") as file:
        raw = json.load(file)["cases"]
    return [case for case, expanded in zip(raw, cases.read(path)["cases"])
            if cases.can(table, expanded) or expanded["steps"][-1]["do"] not in cases.operations()]


class Verdict:
    """The output of a runner, line by line."""

    def __init__(self, right):
        """RIGHT is the number of cases that should pass: those come first."""
        self._right = right
        self.plan = None
        self.found = []
        self.results = []

    def hear(self, line):
        """Note a line, and pass it on unless it is about a case that should fail."""
        result = re.fullmatch(r"(ok|not ok) (\d+) - (.*)", line)
        if result:
            self.found.append((int(result[2]), result[3]))
            self.results.append(result[1] == "ok")
        elif re.fullmatch(r"1\.\.\d+", line):
            self.plan = int(line[3:])
            return
        elif not line.startswith("#"):
            line = "# " + line
        if len(self.found) <= self._right:
            print(line, flush=True)


def judge(command, right, wrong):
    """Run the cases and print the verdict. Returns whether all is as it should be."""
    print(f"1..{len(right) + 3}")
    verdict = Verdict(len(right))
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump({"cases": right + wrong}, file)
        file.flush()
        with subprocess.Popen([*command, file.name], stdout=subprocess.PIPE, text=True,
                              encoding="utf-8", errors="backslashreplace") as process:
            for line in process.stdout:
                verdict.hear(line.rstrip("\n"))
    every = sum(len(cases.read(path)["cases"]) for path in cases.files())
    expected = [(i, case["name"]) for i, case in enumerate(right + wrong, 1)]
    is_complete = verdict.plan == len(expected) and verdict.found == expected
    passed, failed = verdict.results[:len(right)], verdict.results[len(right):]
    checks = [
        (is_complete,
         f"the runner has run the {len(right)} cases of {every} whose operations it has",
         [f"planned {verdict.plan}, run {len(verdict.found)}, expected {len(expected)}"]),
        (is_complete and not any(failed),
         f"the runner fails each of {len(wrong)} cases whose expectation is wrong",
         [name for (_, name), is_ok in zip(verdict.found[len(right):], failed) if is_ok]),
        (process.returncode == 1, "the runner's exit status says that cases have failed",
         [f"it is {process.returncode}"]),
    ]
    for i, (holds, name, remarks) in enumerate(checks, len(right) + 1):
        print(f"{'ok' if holds else 'not ok'} {i} - {name}")
        for line in [] if holds else remarks:
            print(f"# {line}")
    return all(passed) and all(holds for holds, _, _ in checks)


def main():
    """Judge the runner that the arguments name."""
    table = sys.argv[1]
    if not table.endswith(".json"):
        table = os.path.join(cases.HERE, "runners", table + ".json")
    runner = cases.read(table)
    command = sys.argv[2:] or runner["command"]
    beside = os.path.join(os.path.dirname(table), "..", command[0])
    if os.path.exists(beside):
        command = [beside, *command[1:]]
    right = [case for path in cases.files() for case in raw_cases(path, runner["operations"])]
    wrong = raw_cases(WRONG, runner["operations"])
    if not any("user" in step for case in right for step in case["steps"]):
        sys.exit(not judge(command, right, wrong))
    # Cases open the belt as another user.
    mode = stat.S_IMODE(os.stat(DEVICE).st_mode)
    os.chmod(DEVICE, 0o666)
    try:
        passed = judge(command, right, wrong)
    finally:
        os.chmod(DEVICE, mode)
    sys.exit(not passed)


if __name__ == "__main__":
    main()
