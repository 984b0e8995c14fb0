# SPDX-License-Identifier: GPL-2.0-only
"""hbctl, as its runner uses it: a command, its JSON, and its error by name."""

import base64
import json
import subprocess
import tempfile

from runner import Refused, error_name

BELT = "conformance"
# The statuses of hbctl(1) that come with an error number.
STATUS = {"ENOENT": (1, 3), "EPERM": (3,), "EIDRM": (3,), "EEXIST": (1,), "ESTALE": (1,),
          "EALREADY": (1,), "EBUSY": (1,), "EBADMSG": (1,), "EOVERFLOW": (1,), "EACCES": (1,),
          "EDOM": (2,)}
# Wrong usage has no error number: its message tells.
USAGE = (("bytes, not 0", "EINVAL"), ("a key has 1 to", "E2BIG"), ("an owner has 1 to", "E2BIG"),
         ("a value has at most", "EMSGSIZE"))


def _refuse(status, errors):
    """Raise Refused for a command that has failed."""
    lines = errors.splitlines()
    if len(lines) != 1:
        raise RuntimeError(f"hbctl: expected one line on stderr, found {errors!r}")
    told = json.loads(lines[0])
    if told["errno"] is None:
        for text, name in USAGE:
            if text in told["error"] and status == 2:
                raise Refused(name)
        raise RuntimeError(f"hbctl: status {status}: {told['error']}")
    name = error_name(told["errno"])
    if status not in STATUS.get(name, (4,)):
        raise RuntimeError(f"hbctl: status {status} with {name}")
    raise Refused(name)


def _decode(value):
    """The fields of a line of JSON, with bytes as bytes."""
    found = {}
    for name, field in value.items():
        if name.endswith("_base64"):
            found[name.removesuffix("_base64")] = base64.b64decode(field)
        else:
            found[name] = field.encode() if name in ("key", "value", "owner") else field
    return found


# Files in the place of pipes: an emulated processor takes long for a process and a pipe.
_input, _output, _errors = (tempfile.TemporaryFile() for _ in range(3))


def _execute(words, stdin, user):
    """Run hbctl. Returns its status, and what it has printed."""
    for file in (_input, _output, _errors):
        file.seek(0)
        file.truncate()
    _input.write(stdin)
    _input.seek(0)
    groups = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    status = subprocess.Popen(["hbctl", "-b", BELT, "--json", *map(str, words)], stdin=_input,
                              stdout=_output, stderr=_errors, **groups).wait()
    for file in (_output, _errors):
        file.seek(0)
    return status, _output.read().decode(), _errors.read().decode()


def run(*words, stdin=b"", user=None, quiet=()):
    """Run a command. Returns its lines of JSON, decoded, and its status.

    A status of quiet is no failure. Raises Refused.
    """
    status, output, errors = _execute(words, stdin, user)
    if status and status not in quiet:
        _refuse(status, errors)
    return [_decode(json.loads(line)) for line in output.splitlines()], status


def escape(data):
    """Bytes as an operand of a command with -e."""
    return "".join(f"\\x{byte:02x}" for byte in data)


def _options(settings):
    """The options of create and set."""
    for name, value in settings.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            value = "yes"
        if name in ("ttl", "grace"):
            value = f"{value}s"
        yield f"{option}={','.join(value) if isinstance(value, list) else value}"


def create(settings):
    """The command that makes the belt of a case."""
    return ["create", BELT, *_options({"ttl": 3600, **settings})]


def change(settings, user=None):
    """Change settings of the belt."""
    run("set", BELT, *_options(settings), user=user)


def advance(time, user=None):
    """Move belt time on, by seconds."""
    run("advance", f"{round(time * 1000)}ms", user=user)
