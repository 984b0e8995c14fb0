#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The programs of examples/python: workers of one server share sessions, results and locks."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tap import PATIENCE, TOP, at_last, in_thread, main  # noqa: E402

EXAMPLES = os.path.join(TOP, "examples", "python")


class Connection(http.client.HTTPConnection):
    """A connection to a server that listens on a unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self._path)


class Server:
    """A server with workers, on a unix socket, and the belts that the head of the example makes."""

    def __init__(self, test, example, *command):
        with open(os.path.join(EXAMPLES, example), encoding="utf-8") as file:
            made = re.findall(r"^    (hbctl create (\w+) .*)$", file.read(), re.M)
        for words, belt in made:
            subprocess.run(words.split(), check=True)
            test.addCleanup(subprocess.run, ["hbctl", "destroy", belt], check=True)
        directory = tempfile.TemporaryDirectory()
        test.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "socket")
        self._log = open(os.path.join(directory.name, "log"), "w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [word.replace("SOCKET", self.path) for word in command], cwd=EXAMPLES,
            stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "SECRET_KEY": "of the test",
                 "PYTHONPATH": os.path.join(TOP, "bindings", "python")})
        test.addCleanup(self.end)
        test.assertTrue(at_last(self.listens), self.said())

    def listens(self):
        """Whether the server listens. Its socket has a name before."""
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(self.path) == 0

    def said(self):
        """The output of the server so far."""
        self._log.seek(0)
        return self._log.read()

    def ask(self, method, target, cookie=""):
        """The answer to a request, and the cookie that came with it."""
        connection = Connection(self.path)
        try:
            connection.request(method, target, headers={"Cookie": cookie} if cookie else {})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise AssertionError(f"{target}: {answer.status} {text}\n{self.said()}")
            return json.loads(text), (answer.getheader("Set-Cookie") or "").partition(";")[0]
        finally:
            connection.close()

    def end(self):
        """End the server with its workers."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()


def at_once(count, function):
    """The results of so many calls of a function at once."""
    ready = threading.Barrier(count)

    def call():
        ready.wait()
        return function()

    return [wait() for wait in [in_thread(call) for _ in range(count)]]


def reached(workers, found):
    """Whether so many workers have answered, or the time is over."""
    return len({one["worker"] for one in found}) >= workers


class Examples(unittest.TestCase):
    def ask_all(self, workers, ask):
        """Answers of so many workers at least, several requests at once."""
        found = []
        deadline = time.monotonic() + PATIENCE
        while not reached(workers, found) and time.monotonic() < deadline:
            found += at_once(4, ask)
        self.assertTrue(reached(workers, found), found)
        return found

    def test_shop(self):
        """shop.py: two workers of gunicorn share a session, and one counts the stock for both"""
        server = Server(self, "shop.py", sys.executable, "-m", "gunicorn", "--workers", "2",
                        "--timeout", "600", "--bind", "unix:SOCKET", "shop:application")
        found = self.ask_all(2, lambda: server.ask("GET", "/stock")[0])
        self.assertEqual(len({one["counted by"] for one in found}), 1)
        answer, cookie = server.ask("GET", "/put/0")
        answers = [answer]
        deadline = time.monotonic() + PATIENCE
        while not reached(2, answers) and time.monotonic() < deadline:
            answers.append(server.ask("GET", f"/put/{len(answers)}", cookie)[0])
        self.assertTrue(reached(2, answers), answers)
        self.assertEqual(answers[-1]["cart"], [str(number) for number in range(len(answers))])
        self.assertEqual(server.ask("GET", "/put/other")[0]["cart"], ["other"])

    def test_rates(self):
        """rates.py: of three workers of uvicorn one asks the bank, and orders come one by one"""
        server = Server(self, "rates.py", sys.executable, "-m", "uvicorn", "--workers", "3",
                        "--uds", "SOCKET", "rates:app")
        found = self.ask_all(3, lambda: server.ask("GET", "/rates/EUR")[0])
        self.assertEqual(len({one["asked by"] for one in found}), 1)
        orders = self.ask_all(3, lambda: server.ask("POST", "/orders")[0])
        orders.sort(key=lambda order: order["number"])
        self.assertEqual([order["number"] for order in orders],
                         list(range(1, len(orders) + 1)))
        tokens = [order["token"] for order in orders]
        self.assertEqual(tokens, sorted(set(tokens)))


main()
