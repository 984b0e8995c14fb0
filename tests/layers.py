#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""layers.py - check that no file of the module includes or uses a header above it.

Kbuild lists the objects of the module bottom-up. A source has the place of its object, and so has the header of
the same name. A comment "# FOLDER/: ..." begins a layer, which has all files of that folder. A header without an
object stands just above the highest header that it includes, which must be in its layer or below.

A file includes headers below it alone, and of headers below it alone it uses functions and macros that are
defined there. check.sh compares symbols. Works in the current directory. Prints what is wrong.
"""

import os
import re

# Parts of the same height: neither uses the other.
BESIDE = (('belt/keys/', 'belt/belts/'), ('hashbelt_core.', 'device/'))

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
INLINE = re.compile(r'^static \w*inline[^;{]*?(\w+)\(', re.MULTILINE)
MACRO = re.compile(r'^#define (\w+)\(', re.MULTILINE)
# Names of types are in a space of their own.
TYPE = re.compile(r'\b(?:struct|enum|union) \w+')


def stem(path):
    """A path without its extension."""
    return os.path.splitext(path)[0]


class Module:
    """The files of the module, and the place of each."""

    def __init__(self):
        self.places, self.layers = {}, {}
        self.texts, self.heights = {}, {}
        self.read_list()

    def read_list(self):
        """Read Kbuild: numbers the objects, and puts each layer before its first one."""
        with open('Kbuild', encoding='utf-8') as file:
            for line in file:
                layer = re.match(r'# ([\w/]+/): ', line)
                if layer:
                    self.layers[layer[1]] = len(self.places) - 0.5 + len(self.layers) / 1000
                elif line.startswith('hashbelt-y'):
                    for name in re.findall(r'[\w/]+\.o\b', line):
                        self.places[stem(name)] = len(self.places)

    def layer(self, path):
        """The place where the layer of a file begins, and that where the next one begins."""
        folders = [folder for folder in self.layers if path.startswith(folder)]
        first = self.layers[max(folders, key=len)] if folders else -1
        return first, min((place for place in self.layers.values() if place > first),
                          default=len(self.places))

    def text(self, path):
        """A file without comments."""
        if path not in self.texts:
            with open(path, encoding='utf-8') as file:
                self.texts[path] = COMMENT.sub(' ', file.read())
        return self.texts[path]

    def includes(self, path):
        """The files of the module that a file includes."""
        for name in INCLUDE.findall(self.text(path)):
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            yield beside if os.path.exists(beside) else name

    def height(self, path):
        """The place of a file."""
        if stem(path) in self.places:
            return self.places[stem(path)]
        if path not in self.heights:
            first, end = self.layer(path)
            highest = max([first, *map(self.height, self.includes(path))])
            self.heights[path] = highest if highest < end else first
        return self.heights[path]

    def leaves_layer(self, path):
        """Whether a header without an object includes one of a layer above its own."""
        return stem(path) not in self.places and \
            any(self.height(header) >= self.layer(path)[1] for header in self.includes(path))

    def files(self):
        """The sources, and all headers that they include."""
        found, new = set(), {f'{name}.c' for name in self.places}
        while new:
            found |= new
            new = {header for path in new for header in self.includes(path)} - found
        return sorted(found)

    def words(self, path):
        """The names that a file uses, but for those of types."""
        return set(re.findall(r'\w+', TYPE.sub(' ', STRING.sub(' ', self.text(path)))))

    def definitions(self):
        """The functions and macros that headers define, with the headers of each."""
        homes = {}
        for path in self.files():
            if path.endswith('.h'):
                for name in INLINE.findall(self.text(path)) + MACRO.findall(self.text(path)):
                    homes.setdefault(name, set()).add(path)
        return homes


def are_beside(user, used):
    """Whether both are parts of the same height."""
    return any(user.startswith(one) and used.startswith(other)
               for pair in BESIDE for one, other in (pair, pair[::-1]))


def missing_layers(module):
    """Folders that are no layers."""
    for folder in sorted({os.path.dirname(path) for path in module.files()} - {''}):
        if f'{folder}/' not in module.layers:
            yield f'Kbuild: add a comment "# {folder}/: ..." before the first object of that folder'


def wrong_includes(module):
    """Headers that are included by files below or beside them."""
    for path in module.files():
        if module.leaves_layer(path):
            yield f'{path} includes a header of a layer that Kbuild lists after its own'
        for header in module.includes(path):
            if module.height(header) > module.height(path):
                yield f'{path} includes {header}, which Kbuild lists after it'
            if are_beside(path, header):
                yield f'{path} includes {header}: neither may use the other'


def wrong_uses(module):
    """Functions and macros of headers that are used by files below them."""
    homes = module.definitions()
    for path in module.files():
        for name in sorted(module.words(path) & homes.keys()):
            if path not in homes[name] and \
                    all(module.height(home) > module.height(path) for home in homes[name]):
                yield f'{path} uses {name} of {min(homes[name])}, which Kbuild lists after it'


def main():
    """Print what is wrong."""
    module = Module()
    for line in [*missing_layers(module)] or [*wrong_includes(module), *wrong_uses(module)]:
        print(line)


main()
