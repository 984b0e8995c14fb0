# SPDX-License-Identifier: LGPL-2.1-or-later
"""Build the package: generate.py writes one of its modules.

Nothing is written beside the source, which may be read-only, but by an editable installation.
"""

import os
import re
import sys
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import generate  # noqa: E402


class Build(build_py):
    """Builds the package, or for an editable installation writes into the source."""

    def run(self):
        """Write the module beside the others."""
        super().run()
        generate.write(generate.OUTPUT if self.editable_mode else
                       os.path.join(self.build_lib, "hashbelt", "_abi.py"))


class Distribute(sdist):
    """A source distribution has no headers of C, and so the module."""

    def make_release_tree(self, base_dir, files):
        """Write the module beside the others."""
        super().make_release_tree(base_dir, files)
        generate.write(os.path.join(base_dir, "hashbelt", "_abi.py"))


with tempfile.TemporaryDirectory() as work:
    setup(license="LGPL-2.1-or-later",
          version=re.search("^VERSION: Final = '(.*)'$", generate.find(), re.MULTILINE)[1],
          options={"build": {"build_base": work}, "egg_info": {"egg_base": work}},
          cmdclass={"build_py": Build, "sdist": Distribute})
