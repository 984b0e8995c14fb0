#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that need no device: its absence, that of the library, classes of exceptions."""

import _ctypes
import os
import subprocess
import sys
import tempfile
import unittest

from tap import TOP, hashbelt, main


class Native(unittest.TestCase):
    def test_no_device(self):
        """without a device open and create raise NoDevice, which says how to load the module"""
        for call in (hashbelt.open, hashbelt.create, hashbelt.destroy):
            with self.assertRaises(FileNotFoundError) as caught:
                call("belt", path="/nonexistent/hashbelt")
            self.assertEqual(str(caught.exception),
                             "there is no device /nonexistent/hashbelt: load the module with "
                             "'modprobe hashbelt' or 'insmod hashbelt.ko'")
            self.assertIsInstance(caught.exception, hashbelt.NoDevice)

    def test_other_device(self):
        """another device raises NoDevice"""
        with self.assertRaises(hashbelt.NoDevice) as caught:
            hashbelt.open("belt", path="/dev/null")
        self.assertEqual(str(caught.exception), "/dev/null is not the device of hashbelt")

    def load(self, path):
        """Import the package with this file as the library. Returns the status and the message."""
        with tempfile.TemporaryDirectory() as directory:
            os.symlink(path, f"{directory}/libhashbelt.so.0")
            done = subprocess.run([sys.executable, "-c", "import hashbelt"], text=True,
                                  env={"LD_LIBRARY_PATH": directory,
                                       "PYTHONPATH": f"{TOP}/bindings/python"},
                                  capture_output=True, check=False)
        return done.returncode, done.stderr.splitlines()[-1]

    def test_no_library(self):
        """if the library cannot be loaded, the import raises an error that names the package"""
        status, text = self.load("/dev/null")
        self.assertEqual((status, text.partition(" (")[0]), (
            1, "ImportError: cannot load libhashbelt.so.0: install the package libhashbelt0"))
        self.assertIn("libhashbelt.so.0: ", text.partition(" (")[2])

    def test_old_library(self):
        """a library that lacks a function raises an error that names the package"""
        self.assertEqual(self.load(_ctypes.__file__), (
            1, "ImportError: libhashbelt.so.0 has no function hashbelt_open: install the package "
            f"libhashbelt0 of version {hashbelt.__version__}"))

    def test_classes(self):
        """each exception of the package is a hashbelt.Error and an OSError"""
        classes = [value for value in vars(hashbelt).values()
                   if isinstance(value, type) and issubclass(value, BaseException)]
        self.assertEqual(len(classes), 16)
        for kind in classes:
            self.assertTrue(issubclass(kind, hashbelt.Error) and issubclass(kind, OSError), kind)


main()
