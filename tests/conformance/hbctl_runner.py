#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""hbctl_runner.py FILE - run the cases of a file with hbctl: each operation is a command.

The exit status has to be that of hbctl(1) for the error.
"""

import time

import hbctl
import runner
from runner import Refused, seconds

PATIENCE = 60   # seconds after which an event does not come
CONDITIONS = ("if_absent", "if_present", "if_version")
TOUCHING = ("if_version", "add", "if_lasting", "if_expiring", "if_later", "if_sooner")


def time_option(step, name, option):
    """The option for a time, if the step has one."""
    value = step.get(name)
    if value is None or value == "belt":
        return []
    return [option, value if isinstance(value, str) else f"{round(value * 1000)}ms"]


def times(found):
    """The fields of JSON, with times as cases have them."""
    if "ttl_ms" in found:
        found["ttl"] = seconds(found["ttl_ms"])
    if "held_ms" in found:
        found["held"] = seconds(found["held_ms"])
    if found.get("kind") == "lock":
        found["token"] = found.get("token")
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
        lines = [f"destroy {hbctl.BELT}"] if self._exists else []
        lines += [" ".join(hbctl.create(settings)), "halt"]
        self._exists = False
        hbctl.run("batch", stdin="".join(line + "\n" for line in lines).encode())
        self._exists = True

    def end(self):
        """The belt of the next case takes the place of this one."""

    def close(self):
        """Called at the end: destroy the belt of the last case."""
        if self._exists:
            hbctl.run("destroy", hbctl.BELT)

    def _run(self, step, *words, **more):
        return hbctl.run(*words, user=self._users.get(step.who()), **more)

    def _one(self, step, *words, **more):
        """Run a command that prints one line. Returns its fields."""
        found, _ = self._run(step, *words, **more)
        return times(found[0]) if found else {}

    @staticmethod
    def _key(step, name="key"):
        return ["-e", "--", hbctl.escape(step.bytes(name))]

    def do_open(self, step):
        self._users[step.who()] = step.get("user")
        try:
            self._run(step, "size")
        except Refused as refused:
            # A user that may only write has found the belt as well.
            if refused.name != "EPERM":
                raise

    def do_create(self, step):
        self._run(step, *hbctl.create(self._settings))
        self._exists = True

    def do_destroy(self, step):
        self._run(step, "destroy", hbctl.BELT)
        self._exists = False

    def do_put(self, step):
        words = ["put", *time_option(step, "ttl", "--ttl")]
        for name in ("flags", *CONDITIONS):
            value = step.get(name)
            if value is not None:
                words += ["--" + name.replace("_", "-")] + ([] if value is True else [value])
        return self._one(step, *words, *self._key(step), stdin=step.bytes("value"))

    def do_get(self, step):
        return self._one(step, "get", *time_option(step, "ttl", "--ttl"), *self._key(step))

    def do_has(self, step):
        return self._one(step, "has", *self._key(step))

    def do_touch(self, step):
        words = ["touch", *time_option(step, "ttl", "--ttl")]
        for name in TOUCHING:
            value = step.get(name)
            if value is not None:
                words += ["--" + name.replace("_", "-")] + ([] if value is True else [value])
        return self._one(step, *words, *self._key(step))

    def do_remove(self, step):
        version = step.get("if_version")
        words = [] if version is None else ["--if-version", version]
        words += ["--stale"] if step.get("stale") else []
        return self._one(step, "rm", *words, *self._key(step))

    def do_expire(self, step):
        return self._one(step, "expire", *self._key(step))

    def do_add(self, step):
        initial = step.get("initial")
        words = ["incr", "-e", *time_option(step, "ttl", "--ttl")]
        words += [] if initial is None else [f"--initial={initial}"]
        floor = step.get("floor")
        words += [] if floor is None else [f"--min={floor}"]
        words += ["--if-present"] if step.get("if_present") else []
        return self._one(step, *words, "--", hbctl.escape(step.bytes("key")), step.get("by"))

    def do_put_many(self, step):
        ttl = step.get("ttl")
        end = "" if ttl is None else f"\t{ttl}s"
        lines = [f"{hbctl.escape(key)}\t{hbctl.escape(value)}{end}"
                 for key, value in zip(step.all_bytes("keys"), step.all_bytes("values"))]
        self._run(step, "load", stdin="".join(line + "\n" for line in lines).encode())

    def do_get_many(self, step):
        keys = step.all_bytes("keys")
        found, _ = self._run(step, "get", "-e", "--", *map(hbctl.escape, keys), quiet=(1,))
        values = {entry["key"]: entry["value"] for entry in found}
        return {"values": [values.get(key) for key in keys]}

    def do_remove_many(self, step):
        keys = step.all_bytes("keys")
        found, _ = self._run(step, "rm", "-e", "--", *map(hbctl.escape, keys), quiet=(1,))
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
        settings = {name: step.get(name) for name in ("ttl", "max_entries") if name in step.members}
        hbctl.change(settings, user=self._users.get(step.who()))

    def do_advance(self, step):
        hbctl.advance(step.get("time"), user=self._users.get(step.who()))

    def do_rotate(self, step):
        self._run(step, "rotate")

    def do_fill(self, step):
        words = ["get", "--fill", "--print-token", *time_option(step, "lease", "--lease")]
        words += time_option(step, "ahead", "--ahead") + (["--stale"] if step.get("stale") else [])
        found, status = self._run(step, *words, *self._key(step), quiet=(1, 5, 6))
        answer = {"value": None, "failed": False, "filling": status == 5, **found[0]}
        if answer["granted"]:
            self._tokens[step.who(), step.bytes("key")] = answer["token"]
        return answer

    def do_fill_put(self, step):
        token = self._tokens[step.who(), step.bytes("key")]
        return self._one(step, "put", "--if-lease", token, *time_option(step, "ttl", "--ttl"),
                         *self._key(step), stdin=step.bytes("value"))

    def do_offer(self, step):
        try:
            return self.do_fill_put(step)
        except Refused as refused:
            if refused.name != "ESTALE":
                raise
            return {}

    def _lock(self, step, command):
        return self._one(step, command, "-e", f"--owner={step.bytes('owner').decode()}",
                         *time_option(step, "ttl", "--ttl"), "--", hbctl.escape(step.bytes("name")))

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
        owner = step.get("owner")
        found, _ = self._run(step, "locks", *([] if owner is None else [f"--owner={owner}"]))
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
