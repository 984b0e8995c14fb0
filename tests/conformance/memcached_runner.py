#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""memcached_runner.py meta|text FILE - run the cases of a file with hbserve, as memcached's client.

The protocol neither makes belts nor moves their time: the package hashbelt for Python does.
"""

import base64
import os
import socket
import subprocess
import sys
import tempfile
import time

import belts
import runner
from belts import hashbelt
from runner import Refused

# Conditions of a touch, in the words of flag U.
TOUCHING = {"if_lasting": "nx", "if_expiring": "xx", "if_later": "gt", "if_sooner": "lt"}
PATIENCE = 120  # a server that is silent for so many seconds has failed
# The errors that a reply names.
ERRORS = (("SERVER_ERROR out of memory storing object", "ENOSPC"), ("SERVER_ERROR belt", "EIDRM"),
          ("CLIENT_ERROR cannot increment or decrement non-numeric value", "EBADMSG"))


class Server:
    """hbserve on a unix socket, for the belt of the cases."""

    def __init__(self):
        self._directory = tempfile.TemporaryDirectory()
        self._path = os.path.join(self._directory.name, "socket")
        self._process = subprocess.Popen(["hbserve", "-s", self._path, "-b", belts.NAME, "-t", "1"])
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(self._path):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("hbserve does not start")
            time.sleep(0.01)

    def connect(self):
        """A connection, as a file."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._path)
        connection.settimeout(PATIENCE)
        file = connection.makefile("rwb")
        connection.close()
        return file

    def stop(self):
        """End the server. Raises RuntimeError if it does not end well."""
        self._process.terminate()
        if self._process.wait(PATIENCE):
            raise RuntimeError(f"hbserve ends with {self._process.returncode}")
        self._directory.cleanup()


def check(line):
    """Refuse if a line of a reply names an error."""
    for text, name in ERRORS:
        if line.startswith(text):
            raise Refused(name)
    if "ERROR" in line:
        raise RuntimeError(line)
    return line


class Protocol:
    """The common part of both forms of the protocol."""

    def __init__(self, server):
        self._server = server
        self._connections = {}
        self._belt = None

    def begin(self, settings):
        """Make the belt of a case, and the connection "main"."""
        self._belt = belts.begin(settings)
        self._connections = {"main": self._server.connect()}

    def end(self):
        """Close the connections, and destroy the belt, if the case has not."""
        for connection in self._connections.values():
            connection.close()
        self._connections = {}
        if self._belt is not None:
            self._belt.close()
        belts.end()

    def close(self):
        """Called at the end."""
        self._server.stop()

    def _send(self, step, *lines):
        connection = self._connections[step.who()]
        connection.write(b"".join(line + b"\r\n" for line in lines))
        connection.flush()

    def _line(self, step):
        """The next line of a reply. Raises Refused."""
        line = self._connections[step.who()].readline()
        if not line.endswith(b"\r\n"):
            raise RuntimeError(f"hbserve has closed the connection: {line!r}")
        return check(line[:-2].decode())

    def _value(self, step, length):
        """The value behind a line."""
        value = self._connections[step.who()].read(length + 2)
        if value[length:] != b"\r\n":
            raise RuntimeError(f"a value of {length} bytes does not end there: {value!r:.100}")
        return value[:length]

    def _each(self, step, one, names):
        """Read a reply for each name with a function. Raises the first error at the end."""
        found, refused = [], None
        for name in names:
            try:
                found.append(one(step, name))
            except Refused as error:
                refused = refused or error
        if refused:
            raise refused
        return found

    def do_open(self, step):
        self._connections[step.who()] = self._server.connect()

    def do_close(self, step):
        self._connections.pop(step.who()).close()

    def do_destroy(self, step):
        hashbelt.destroy(belts.NAME)

    def do_advance(self, step):
        self._belt.advance(step.get("time"))

    def do_rotate(self, step):
        self._belt.rotate()

    def do_clear(self, step):
        self._send(step, b"flush_all")
        self._line(step)


def exptime(step, name="ttl"):
    """A time as the protocol has it: 0 is never."""
    value = step.get(name)
    return 0 if value in (None, "never") else value


def stored(step, reply):
    """Refuse unless a value was stored: NS, EX and NF say why not."""
    if reply == "NS":
        raise Refused("ENOENT" if step.get("if_present") else "EEXIST")
    if reply == "EX":
        raise Refused("ESTALE")
    if reply == "NF":
        raise Refused("ENOENT")


class Meta(Protocol):
    """The operations, by meta commands. Keys are in base64."""

    def __init__(self, server):
        super().__init__(server)
        self._tokens = {}

    def _command(self, command, key, *flags):
        encoded = base64.b64encode(key).decode()
        return " ".join(map(str, (command, encoded, *flags, "b"))).encode()

    def _reply(self, step):
        """The code of a reply, and what its flags return, with the value. Raises Refused."""
        code, *words = self._line(step).split(" ")
        found = {"value": None}
        if code == "VA":
            found["value"] = self._value(step, int(words.pop(0)))
        for word in words:
            found[word[0]] = word[1:]
        return code, found

    def _ask(self, step, command, *flags, value=None):
        key = step.bytes("key")
        if value is None:
            self._send(step, self._command(command, key, *flags))
        else:
            self._send(step, self._command(command, key, len(value), *flags), value)
        code, found = self._reply(step)
        if code in ("EN", "NF") and command != "ms":
            raise Refused("ENOENT")
        if code == "EX" and command != "ms":
            raise Refused("ESTALE")
        if code == "NS" and command == "mg":
            raise Refused("EALREADY")
        return code, found

    @staticmethod
    def _fields(found):
        """The results of a get or a touch by their names."""
        names = {"f": "flags", "c": "version", "t": "ttl"}
        fields = {names[flag]: int(found[flag]) for flag in names if flag in found}
        if fields.get("ttl") == -1:
            fields["ttl"] = "never"
        return {**fields, "value": found["value"]}

    def do_put(self, step):
        flags = [f"T{exptime(step)}", f"F{step.get('flags', 0)}", "c"]
        flags += ["ME"] if step.get("if_absent") else ["MR"] if step.get("if_present") else []
        version = step.get("if_version")
        flags += [] if version is None else [f"C{version}"]
        code, found = self._ask(step, "ms", *flags, value=step.bytes("value"))
        stored(step, code)
        return {"version": int(found["c"])}

    def do_get(self, step):
        touch = [] if step.get("ttl") is None else [f"T{exptime(step)}"]
        return self._fields(self._ask(step, "mg", *touch, "v", "f", "t", "c")[1])

    def do_touch(self, step):
        version = step.get("if_version")
        words = [] if version is None else [f"C{version}", "U"]
        on = "".join(word for name, word in TOUCHING.items() if step.get(name))
        words += [f"U{on}"] if on else []
        return self._fields(self._ask(step, "mg", f"T{exptime(step)}", *words, "f", "t", "c")[1])

    def do_remove(self, step):
        version = step.get("if_version")
        words = [] if version is None else [f"C{version}"]
        self._ask(step, "md", *words, *(["I"] if step.get("stale") else []))

    def do_expire(self, step):
        self._ask(step, "md", "I")

    def do_add(self, step):
        by, initial = step.get("by"), step.get("initial")
        flags = [f"D{abs(by)}", "MI" if by >= 0 else "MD", "v"]
        if initial is not None:
            first = initial + by if by >= 0 else max(initial + by, 0)
            flags += [f"N{exptime(step)}", f"J{first}"]
        return {"sum": int(self._ask(step, "ma", *flags)[1]["value"])}

    def do_put_many(self, step):
        keys, values = step.all_bytes("keys"), step.all_bytes("values")
        lines = []
        for key, value in zip(keys, values):
            lines += [self._command("ms", key, len(value), f"T{exptime(step)}"), value]
        self._send(step, *lines)
        self._each(step, lambda step, key: stored(step, self._reply(step)[0]), keys)

    def do_get_many(self, step):
        keys = step.all_bytes("keys")
        self._send(step, *(self._command("mg", key, "v") for key in keys))
        found = self._each(step, lambda step, key: self._reply(step)[1], keys)
        return {"values": [reply["value"] for reply in found]}

    def do_remove_many(self, step):
        keys = step.all_bytes("keys")
        self._send(step, *(self._command("md", key) for key in keys))
        codes = self._each(step, lambda step, key: self._reply(step)[0], keys)
        return {"removed": codes.count("HD")}

    def do_fill(self, step):
        flags = [f"N{step.get('lease')}", "v", "c"]
        flags += [f"R{step.get('ahead')}"] if step.get("ahead") else []
        code, found = self._ask(step, "mg", *flags)
        is_granted = "W" in found
        if is_granted:
            self._tokens[step.who(), step.bytes("key")] = found["c"]
        # Where there is no entry, the reply has an empty value beside W or Z.
        has_value = code == "VA" and (found["value"] or "X" in found or not {"W", "Z"} & set(found))
        return {"value": found["value"] if has_value else None, "granted": is_granted,
                "filling": "Z" in found, "stale": "X" in found}

    def do_fill_put(self, step):
        token = self._tokens[step.who(), step.bytes("key")]
        flags = [f"T{exptime(step)}", f"C{token}"]
        code, _ = self._ask(step, "ms", *flags, value=step.bytes("value"))
        if code in ("EX", "NF"):
            raise Refused("ESTALE")

    def do_offer(self, step):
        try:
            self.do_fill_put(step)
        except Refused as refused:
            if refused.name != "ESTALE":
                raise


class Text(Protocol):
    """The operations, by the text protocol."""

    def _store(self, step, command, key, value, more=""):
        line = f"{command} {key.decode()} {step.get('flags', 0)} {exptime(step)} {len(value)}{more}"
        return [line.encode(), value]

    def do_put(self, step):
        command = "add" if step.get("if_absent") else "replace" if step.get("if_present") else "set"
        version = step.get("if_version")
        if version is not None:
            command = "cas"
        more = "" if version is None else f" {version}"
        self._send(step, *self._store(step, command, step.bytes("key"), step.bytes("value"), more))
        codes = {"STORED": "HD", "NOT_STORED": "NS", "EXISTS": "EX", "NOT_FOUND": "NF"}
        stored(step, codes[self._line(step)])

    def _values(self, step):
        """The values of a reply by their keys, each with flags and version."""
        found = {}
        while (line := self._line(step)) != "END":
            _, key, flags, length, *version = line.split(" ")
            found[key.encode()] = {"flags": int(flags), "value": self._value(step, int(length)),
                                   "version": int(version[0]) if version else None}
        return found

    def do_get(self, step):
        key = step.bytes("key")
        touch = step.get("ttl") is not None
        self._send(step, (b"gats %d " % exptime(step) if touch else b"gets ") + key)
        found = self._values(step)
        if key not in found:
            raise Refused("ENOENT")
        return found[key]

    def _simple(self, step, command, *more):
        self._send(step, " ".join((command, step.bytes("key").decode(), *map(str, more))).encode())
        reply = self._line(step)
        if reply == "NOT_FOUND":
            raise Refused("ENOENT")
        return reply

    def do_touch(self, step):
        self._simple(step, "touch", exptime(step))

    def do_remove(self, step):
        self._simple(step, "delete")

    def do_add(self, step):
        by = step.get("by")
        return {"sum": int(self._simple(step, "incr" if by >= 0 else "decr", abs(by)))}

    def do_put_many(self, step):
        lines = []
        for key, value in zip(step.all_bytes("keys"), step.all_bytes("values")):
            lines += self._store(step, "set", key, value)
        self._send(step, *lines)
        self._each(step, lambda step, key: self._line(step), step.all_bytes("keys"))

    def do_get_many(self, step):
        keys = step.all_bytes("keys")
        self._send(step, b"get " + b" ".join(keys))
        found = self._values(step)
        return {"values": [found[key]["value"] if key in found else None for key in keys]}

    def do_remove_many(self, step):
        keys = step.all_bytes("keys")
        self._send(step, *(b"delete " + key for key in keys))
        replies = self._each(step, lambda step, key: self._line(step), keys)
        return {"removed": replies.count("DELETED")}


if __name__ == "__main__":
    runner.main((Meta if sys.argv[1] == "meta" else Text)(Server()))
