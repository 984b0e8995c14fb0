# SPDX-License-Identifier: LGPL-2.1-or-later
"""Build the package: generate.py writes one of its modules, and native/ is an extension.

Nothing is written beside the source, which may be read-only, but by an editable installation.

The extension needs a compiler, the headers of Python, and libhashbelt-dev. Without them the package
has none, unless HASHBELT_BACKEND=native in the environment demands it. HASHBELT_BACKEND=ctypes
leaves it off.
"""

import glob
import os
import re
import shutil
import sys
import sysconfig
import tempfile

from setuptools import Extension, setup
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


def copy_headers(directory):
    """Copy the headers that are here to where libhashbelt-dev has them. Returns that directory."""
    target = os.path.join(directory, "include")
    os.makedirs(os.path.join(target, "hashbelt"))
    _, kernel, client = generate.HEADERS
    if os.path.exists(kernel):
        shutil.copyfile(kernel, os.path.join(target, "hashbelt", "uapi.h"))
        shutil.copyfile(client, os.path.join(target, "hashbelt", "client.h"))
    return target


def extensions(version, headers):
    """The extension, if it can be built. One serves all versions of Python that have a GIL."""
    backend = os.environ.get("HASHBELT_BACKEND")
    if backend == "ctypes" or sys.implementation.name != "cpython":
        return []
    macros = [("HASHBELT_VERSION", f'"{version}"')]
    if LIMITED:
        macros.append(("Py_LIMITED_API", "0x030b0000"))
    return [Extension("hashbelt._native", sorted(glob.glob("native/*.c")),
                      depends=["native/native.h"], define_macros=macros,
                      include_dirs=[headers], libraries=["hashbelt"],
                      extra_compile_args=["-fvisibility=hidden"], py_limited_api=LIMITED,
                      optional=backend != "native")]


# A Python without a GIL has no limited API before 3.15.
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")
VERSION = re.search("^VERSION: Final = '(.*)'$", generate.find(), re.MULTILINE)[1]

with tempfile.TemporaryDirectory() as work:
    setup(license="LGPL-2.1-or-later", version=VERSION,
          ext_modules=extensions(VERSION, copy_headers(work)),
          options={"build": {"build_base": work}, "egg_info": {"egg_base": work},
                   "bdist_wheel": {"py_limited_api": "cp311" if LIMITED else False}},
          cmdclass={"build_py": Build, "sdist": Distribute})
