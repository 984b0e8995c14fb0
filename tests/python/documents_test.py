#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The commands and the examples of docs/python.md do what it shows."""

import doctest
import os
import shlex
import subprocess
import unittest

from tap import TOP, main


def parts(text):
    """The commands ("$ ") and the blocks of Python of a document, in order, with their lines."""
    block = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("    $ "):
            yield number, "sh", line[6:]
        elif line == "```python":
            block = [number, ""]
        elif line == "```" and block is not None:
            yield block[0], "python", block[1]
            block = None
        elif block is not None:
            block[1] += line + "\n"


class Documents(unittest.TestCase):
    def test_python_md(self):
        """each command and each example of docs/python.md does what the document shows"""
        with open(os.path.join(TOP, "docs", "python.md"), encoding="utf-8") as file:
            found = list(parts(file.read()))
        self.assertGreater(len([kind for _, kind, _ in found if kind == "python"]), 4)
        names = {}
        for number, kind, text in found:
            if kind == "sh":
                subprocess.run(shlex.split(text), check=True)
                continue
            test = doctest.DocTestParser().get_doctest(text, names, "docs/python.md",
                                                       "docs/python.md", number)
            said = []
            doctest.DocTestRunner().run(test, out=said.append, clear_globs=False)
            self.assertEqual("".join(said), "")
            names = test.globs


main()
