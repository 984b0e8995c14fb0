#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""data_test.py - the conformance suite is consistent, and judge.py finds runners that are wrong.

Needs no module. The runners here pass each case, or not, without looking at it.
"""

import json
import os
import subprocess
import sys
import tempfile

import cases

_checks = _failures = 0


def check(name, wrong):
    """A line of TAP: the check passes if WRONG, a list, is empty."""
    global _checks, _failures
    _checks += 1
    _failures += bool(wrong)
    print(f"{'not ok' if wrong else 'ok'} {_checks} - {name}")
    for line in wrong:
        print(f"# {line}")


def tables():
    """The tables of all runners, by name."""
    directory = os.path.join(cases.HERE, "runners")
    return {name: cases.read(os.path.join(directory, name))
            for name in sorted(os.listdir(directory))}


def used_words(every):
    """The words of each operation that some case needs."""
    used = {}
    for case in every:
        for operation, words in cases.needs(case).items():
            used.setdefault(operation, set()).update(words)
    return used


def check_cases(every):
    """The cases, among themselves and against operations.json."""
    names = [case["name"] for case in every]
    check("each case has a name of its own",
          sorted({name for name in names if names.count(name) > 1}))
    operations, used = set(cases.operations()), set(used_words(every))
    check("operations.json has the operations of the cases, and no other",
          sorted(operations ^ used))
    check("each case expects a result or an error", [
        case["name"] for case in every
        if not any("returns" in step or "error" in step for step in case["steps"])])
    members = {"name", "belt", "steps"}
    check("a case has a name, steps, and maybe settings", [
        case["name"] for case in every if not {"name", "steps"} <= set(case) <= members])


def check_tables(every):
    """The tables of the runners."""
    used = used_words(every)
    for name, table in tables().items():
        rows = {} if table["operations"] == "*" else table["operations"]
        check(f"{name}: a case uses each word of the table", [
            f"{operation}: {word}" for operation, words in rows.items() if words != "*"
            for word in words.split() if word not in used.get(operation, ())])
        check(f"{name}: there are cases for it",
              [] if cases.select(table["operations"]) else ["none"])
    left = [case for case in every if not any(
        cases.can(table["operations"], case) for table in tables().values()
        if table["operations"] != "*")]
    print(f"# {len(left)} cases of {len(every)} run with the library alone")


# A runner: prints the results that its argument says for the cases of the file.
RUNNER = """
import json, sys
found = json.load(open(sys.argv[-1], encoding="utf-8"))["cases"]
how = sys.argv[1]
print(f"1..{len(found)}")
if how == "short":
    found = found[1:]
for i, case in enumerate(found, 1):
    fails = case["name"].startswith("wrong: ") and how != "blind" or how == "fails" and i == 2
    print("not ok" if fails else "ok", i, "-", case["name"])
sys.exit(how != "status")
"""


def verdict(how):
    """The lines of judge.py that are not ok, and its status, for a runner that behaves so."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "table.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"operations": {"belt": "", "put": "*", "get": "*", "remove": "*"}}, file)
        command = [sys.executable, os.path.join(cases.HERE, "judge.py"), path]
        done = subprocess.run([*command, sys.executable, "-c", RUNNER, how],
                              stdout=subprocess.PIPE, text=True, check=False)
    return [line for line in done.stdout.splitlines() if line.startswith("not ok")], done.returncode


def check_judge():
    """judge.py against runners that are right, and that are not."""
    lines, status = verdict("right")
    check("judge.py passes a runner that fails the wrong cases alone",
          lines + ([] if status == 0 else ["status"]))
    for how, what in (("short", "leaves a case out"), ("blind", "passes wrong expectations"),
                      ("fails", "fails a case"), ("status", "exits with 0 after a failure")):
        lines, status = verdict(how)
        check(f"judge.py fails a runner that {what}", [] if lines and status else ["it passes"])


def main():
    """Run the checks."""
    every = [case for path in cases.files() for case in cases.read(path)["cases"]]
    check_cases(every)
    check_tables(every)
    check_judge()
    print(f"1..{_checks}")
    sys.exit(_failures > 0)


if __name__ == "__main__":
    main()
