# SPDX-License-Identifier: GPL-2.0-only
"""The cases of the conformance suite: how they are read, and what a runner needs for each of them.

A file has cases. A case has a name, which is a promise; maybe "belt", the settings of its belt; and
"steps". A step has in "do" an operation of operations.json, and its arguments by their names. Times
are seconds, or "never", "belt" and "keep". An argument that is left out may have any value.

    "as": the handle that the step uses; without it "main", which is open already
    "error": the name of the error that the operation must have; without it, it succeeds
    "returns": the results that it must have, also beside an error; others do not matter
    "save": {"v": "version"} keeps the result "version" in the variable "$v"
    {"above": X}: a number that is larger than X, in the place of a result
    {"hex": "00ff"}, {"fill": "k", "bytes": 9}: bytes
    {"range": "k", "count": 2}: ["k0", "k1"]; with "sorted": true sorted by bytes

A string is its bytes in UTF-8. A table of a runner has words for each operation: the name of an
argument ("key"), of a result (">value"), of an error ("ENOENT"), and of a result beside an error
("EEXIST>version"). A value of a special kind is a word of its own: "ttl=never", "by=negative",
"ttl=fraction", "key=hex", "key=fill". The operation "belt" has the settings of a belt.
"""

import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
# Values of a time that are no number.
TIMES = ("never", "keep", "belt")
# Members of a step that are no arguments.
RESERVED = ("do", "as", "returns", "save", "error")


class Special(bytes):
    """Bytes that a file of cases describes by an object, and the kind of that."""

    kind = ""


def _expand(found):
    """Replace the objects that stand for long or binary values."""
    if set(found) == {"hex"}:
        value = Special(bytes.fromhex(found["hex"]))
        value.kind = "hex"
        return value
    if set(found) == {"fill", "bytes"}:
        value = Special(found["fill"].encode() * found["bytes"])
        value.kind = "fill"
        return value
    if {"range", "count"} <= set(found):
        values = [f"{found['range']}{i}" for i in range(found["count"])]
        return sorted(values) if found.get("sorted") else values
    return found


def read(path):
    """Read a file of cases, or of another kind."""
    with open(path, encoding="utf-8") as file:
        return json.load(file, object_hook=_expand)


def operations():
    """The operations, each with its meaning."""
    return read(os.path.join(HERE, "operations.json"))["operations"]


def files():
    """The paths of all files of cases."""
    directory = os.path.join(HERE, "cases")
    return [os.path.join(directory, name) for name in sorted(os.listdir(directory))]


def _kind(value):
    """The kind of a special value, or nothing."""
    if isinstance(value, Special):
        return value.kind
    if isinstance(value, str):
        return value if value in TIMES else ""
    if isinstance(value, float) and value != int(value):
        return "fraction"
    return "negative" if isinstance(value, (int, float)) and value < 0 else ""


def _words_of(name, value):
    """The words of an argument or a result."""
    if isinstance(value, dict):
        # A condition on a result, as {"above": 1}, or an object in a list.
        if set(value) != {"above"}:
            for member in value:
                yield f"{name}.{member}"
                yield from _words_of(f"{name}.{member}", value[member])
        return
    if isinstance(value, list):
        for part in value:
            yield from _words_of(name, part)
        return
    kind = _kind(value)
    if kind:
        yield f"{name}={kind}"


def words(step):
    """The words that a runner needs for a step: arguments, results with ">", errors."""
    found = set()
    for name in step:
        if name not in RESERVED:
            found |= {name, *_words_of(name, step[name])}
    mark = ">"
    if "error" in step:
        found.add(step["error"])
        mark = step["error"] + ">"
    for name, value in step.get("returns", {}).items():
        found |= {mark + name, *_words_of(mark + name, value)}
    found |= {mark + name for name in step.get("save", {}).values()}
    return found


def needs(case):
    """The operations of a case, each with the set of its words. "belt" stands for the settings."""
    found = {"belt": {*case.get("belt", {})}}
    for step in case["steps"]:
        found.setdefault(step["do"], set()).update(words(step))
    return found


def can(table, case):
    """Whether a runner with this table has all that a case needs."""
    if table == "*":
        return True
    for operation, wanted in needs(case).items():
        if operation not in table and (wanted or operation != "belt"):
            return False
        known = table.get(operation, "")
        if known != "*" and not wanted <= set(known.split()):
            return False
    return True


def select(table):
    """The cases that a runner with this table has, as (path, case)."""
    return [(path, case) for path in files() for case in read(path)["cases"] if can(table, case)]
