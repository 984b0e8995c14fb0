#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""hbctl_runner.py FILE - run the cases of a file with hbctl: each operation is a command.

The exit status has to be that of hbctl(1) for the error.
"""

import base64
import json
import subprocess
import tempfile
import time

import runner
from runner import Refused, error_name, seconds

BELT = "conformance"
# The statuses of hbctl(1) that come with an error number.
STATUS = {"ENOENT": (1, 3), "EPERM": (3,), "EIDRM": (3,), "EEXIST": (1,), "ESTALE": (1,),
          "EALREADY": (1,), "EBUSY": (1,), "EBADMSG": (1,), "EOVERFLOW": (1,), "EACCES": (1,),
          "EDOM": (2,)}
# Wrong usage has no error number: its message tells.
USAGE = (("bytes, not 0", "EINVAL"), ("a key has 1 to", "E2BIG"), ("an owner has 1 to", "E2BIG"),
         ("a value has at most", "EMSGSIZE"))
PATIENCE = 60   # seconds after which an event does not come
CONDITIONS = ("if_absent", "if_present", "if_version")
TOUCHING = ("if_version", "add", "if_lasting", "if_expiring", "if_later", "if_sooner")


def refuse(status, errors):
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


def decode(value):
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


def execute(words, stdin, user):
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
    status, output, errors = execute(words, stdin, user)
    if status and status not in quiet:
        refuse(status, errors)
    return [decode(json.loads(line)) for line in output.splitlines()], status


def escape(data):
    """Bytes as an operand of a command with -e."""
    return "".join(f"\\x{byte:02x}" for byte in data)


def create(settings):
    """The command that makes the belt of a case."""
    words = ["create", BELT]
    for name, value in {"ttl": 3600, **settings}.items():
        if name in ("ttl", "grace"):
            value = f"{value}s"
        value = "yes" if value is True else ",".join(value) if isinstance(value, list) else value
        words.append(f"--{name.replace('_', '-')}={value}")
    return words


def options(step, *names):
    """The options for those of these arguments that a step has."""
    words = []
    for name in names:
        value = step.get(name)
        if value is None or value == "belt":
            continue
        if name in ("ttl", "lease", "ahead") and not isinstance(value, str):
            value = f"{round(value * 1000)}ms"
        option = "--min" if name == "floor" else "--" + name.replace("_", "-")
        words.append(option if value is True else f"{option}={value}")
    return words


def times(found):
    """The fields of JSON, with times as cases have them."""
    if "ttl_ms" in found:
        found["ttl"] = seconds(found["ttl_ms"])
    if "held_ms" in found:
        found["held"] = seconds(found["held_ms"])
    return found


class Hbctl:
    """The operations."""

    def __init__(self):
        self._exists = False
        self._settings = {}
        self._users = {}
        self._tokens = {}

    def begin(self, settings):
        """Make the belt of a case in the place of the one before, by one process."""
        self._settings = settings
        self._users = {}
        self._tokens = {}
        lines = [f"destroy {BELT}"] if self._exists else []
        lines += [" ".join(create(settings)), "halt"]
        self._exists = False
        run("batch", stdin="".join(line + "\n" for line in lines).encode())
        self._exists = True

    def end(self):
        """The belt of the next case takes the place of this one."""

    def close(self):
        """Called at the end: destroy the belt of the last case."""
        if self._exists:
            run("destroy", BELT)

    def _run(self, step, *words, **more):
        return run(*words, user=self._users.get(step.who()), **more)

    def _one(self, step, *words, **more):
        """Run a command that prints one line. Returns its fields."""
        found, _ = self._run(step, *words, **more)
        return times(found[0]) if found else {}

    @staticmethod
    def _key(step, name="key"):
        return ["-e", "--", escape(step.bytes(name))]

    def do_open(self, step):
        self._users[step.who()] = step.get("user")
        try:
            self._run(step, "size")
        except Refused as refused:
            # A user that may only write has found the belt as well.
            if refused.name != "EPERM":
                raise

    def do_create(self, step):
        self._run(step, *create(self._settings))
        self._exists = True

    def do_destroy(self, step):
        self._run(step, "destroy", BELT)
        self._exists = False

    def do_put(self, step):
        return self._one(step, "put", *options(step, "ttl", "flags", *CONDITIONS),
                         *self._key(step), stdin=step.bytes("value"))

    def do_get(self, step):
        return self._one(step, "get", *options(step, "ttl"), *self._key(step))

    def do_has(self, step):
        return self._one(step, "has", *self._key(step))

    def do_touch(self, step):
        return self._one(step, "touch", *options(step, "ttl", *TOUCHING), *self._key(step))

    def do_remove(self, step):
        return self._one(step, "rm", *options(step, "if_version", "stale"), *self._key(step))

    def do_expire(self, step):
        return self._one(step, "expire", *self._key(step))

    def do_add(self, step):
        words = options(step, "ttl", "initial", "floor", "if_present")
        return self._one(step, "incr", *words, *self._key(step), step.get("by"))

    def do_put_many(self, step):
        ttl = step.get("ttl")
        end = "" if ttl is None else f"\t{ttl}s"
        lines = [f"{escape(key)}\t{escape(value)}{end}"
                 for key, value in zip(step.all_bytes("keys"), step.all_bytes("values"))]
        self._run(step, "load", stdin="".join(line + "\n" for line in lines).encode())

    def do_get_many(self, step):
        keys = step.all_bytes("keys")
        found, _ = self._run(step, "get", "-e", "--", *map(escape, keys), quiet=(1,))
        values = {entry["key"]: entry["value"] for entry in found}
        return {"values": [values.get(key) for key in keys]}

    def do_remove_many(self, step):
        keys = step.all_bytes("keys")
        found, _ = self._run(step, "rm", "-e", "--", *map(escape, keys), quiet=(1,))
        return {"removed": len(found)}

    def do_clear(self, step):
        self._run(step, "clear")

    def do_scan(self, step):
        found, _ = self._run(step, "keys")
        entries = sorted(map(times, found), key=lambda entry: entry["key"])
        return {"keys": [entry["key"] for entry in entries], "entries": entries}

    def do_info(self, step):
        found = self._one(step, "info")
        return {**found, "grace": seconds(found["grace_ms"])}

    def do_stat(self, step):
        return self._one(step, "stat")

    def do_set(self, step):
        self._run(step, "set", BELT, *options(step, "ttl", "max_entries"))

    def do_advance(self, step):
        self._run(step, "advance", f"{round(step.get('time') * 1000)}ms")

    def do_rotate(self, step):
        self._run(step, "rotate")

    def do_fill(self, step):
        words = ["get", "--fill", "--print-token", *options(step, "lease", "ahead", "stale")]
        found, status = self._run(step, *words, *self._key(step), quiet=(1, 5, 6))
        answer = {"value": None, "filling": status == 5, **found[0]}
        if answer["granted"]:
            self._tokens[step.who(), step.bytes("key")] = answer["token"]
        return answer

    def do_fill_put(self, step):
        token = self._tokens[step.who(), step.bytes("key")]
        return self._one(step, "put", "--if-lease", token, *options(step, "ttl"),
                         *self._key(step), stdin=step.bytes("value"))

    def do_offer(self, step):
        try:
            return self.do_fill_put(step)
        except Refused as refused:
            if refused.name != "ESTALE":
                raise
            return {}

    def _lock(self, step, command):
        return self._one(step, command, f"--owner={step.bytes('owner').decode()}",
                         *options(step, "ttl"), *self._key(step, "name"))

    def do_lock(self, step):
        return self._lock(step, "lock")

    def do_unlock(self, step):
        return self._lock(step, "unlock")

    def do_renew(self, step):
        return self._lock(step, "renew")

    def do_release(self, step):
        found = self._one(step, "release", f"--owner={step.bytes('owner').decode()}")
        return {"count": found["released"]}

    def do_locks(self, step):
        found, _ = self._run(step, "locks", *options(step, "owner"))
        locks = [{**times(lock), "name": lock["key"]} for lock in found]
        return {"locks": sorted(locks, key=lambda lock: lock["name"])}

    def do_events(self, step):
        deadline = time.monotonic() + PATIENCE
        found, _ = self._run(step, "events", quiet=(1,))
        while len(found) < step.expected("events") and time.monotonic() < deadline:
            found += self._run(step, "events", quiet=(1,))[0]
        return {"events": found}

    def do_complete(self, step):
        found, _ = self._run(step, "complete", *self._key(step), quiet=(1,))
        return {"count": found[0]["completed"] if found else 0}


if __name__ == "__main__":
    runner.main(Hbctl())
