#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""lock_order.py [OUTPUT] - check the order of the module's locks.

Each lock has its rule in a comment before it, and nowhere else. The rule ends with the locks that a
task may take next while it holds this one, as in "Inside it: shard->lock, queue->lock.", or with
"Inside it: none." "memory" stands there where memory may be allocated, so that the shrinker runs.
A lock that interrupts take is "taken in interrupts".

Without OUTPUT: each lock that the module initializes has a rule, each name in a rule is a lock, in
the picture of docs/design.md all rules lead downwards, and the rules are those that lockdep has seen
exercised, by tests/locks: a line has an outer and an inner lock. Prints what is wrong.

OUTPUT is that of a guest with lockdep, as guest.sh prints it. Prints TAP: lockdep has seen nothing that
no rule allows, or that tests/locks lacks. Names the rules that the guest has not exercised: some need a
task to meet another one.
"""

import glob
import os
import re
import sys

from result import Results

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INIT = re.compile(r'\b(?:spin_lock_init|mutex_init|init_rwsem)\(&([^)]+)\)')
STATIC = re.compile(r'^static DEFINE_(?:MUTEX|SPINLOCK)\((\w+)\);')
STRUCT = re.compile(r'^struct (?:hb_|hashbelt_)(\w+) \{')
MEMBER = re.compile(r'^\t(?:spinlock_t|struct mutex|struct rw_semaphore) (\w+)')
INSIDE = re.compile(r'Inside it: ([^.]*)\.')
# The name by which lockdep knows the allocation of memory.
MEMORY = {'fs_reclaim': 'memory'}
RECORD = f'{TOP}/tests/locks'


def short(name):
    """The name of a lock as the rules spell it: of "&belt->queue.lock" that is queue->lock."""
    name = re.sub(r'\[.*?\]|[/#]\d+$|^&', '', name)
    if name in MEMORY:
        return MEMORY[name]
    owner, _, member = name.replace('->', '.').rpartition('.')
    return f'{owner.rpartition(".")[2]}->{member}' if owner else member


def sources():
    """The lines of the module's files: path and text."""
    for path in sorted(glob.glob(f'{TOP}/belt/**/*.[ch]', recursive=True) +
                       glob.glob(f'{TOP}/device/*.[ch]')):
        with open(path, encoding='utf-8') as file:
            yield os.path.relpath(path, TOP), file.read().splitlines()


def members():
    """The locks that are declared: structure or '', member, where, and the comment before it."""
    for path, lines in sources():
        struct, comment = '', []
        for number, line in enumerate(lines, 1):
            text = line.strip()
            struct = STRUCT.match(line)[1] if STRUCT.match(line) else '' if line == '};' else struct
            found = struct and MEMBER.match(line) or STATIC.match(line)
            if found:
                yield struct, found[1], f'{path}:{number}', ' '.join(comment)
            if text.startswith('/*'):
                comment = []
            if text.startswith(('/*', '*')):
                comment.append(re.sub(r'^/\*+|\*/$|^\*', '', text).strip())
            else:
                comment = []


class Order:
    """The rules: what may be taken inside each lock, and those that interrupts take."""

    def __init__(self):
        self.wrong = []
        self.inside = {}
        self.interrupts = set()
        names = {short(name) for _, lines in sources() for line in lines for name in INIT.findall(line)}
        for struct, member, where, comment in members():
            # The structure's name begins with that of the variables that point to it.
            fitting = [name for name in names if struct and name.endswith(f'->{member}') and
                       struct.startswith(name.split('->')[0])]
            name = max(fitting, key=len, default=member)
            rule = INSIDE.search(comment)
            if not rule:
                self.wrong.append(f'{where}: {name} has no rule that ends with "Inside it: ..."')
            listed = re.split(r', ', re.sub(r'\s+', ' ', rule[1])) if rule else []
            self.inside[name] = set(listed) - {'none'}
            if 'taken in interrupts' in comment:
                self.interrupts.add(name)
        for name in sorted(names - self.inside.keys()):
            self.wrong.append(f'{name} is initialized, and has no rule')
        for outer, inner in self.pairs():
            if inner != 'memory' and inner not in self.inside:
                self.wrong.append(f'the rule of {outer} names {inner}, which is no lock')

    def pairs(self):
        """All pairs of an outer and an inner lock that the rules allow."""
        return [(outer, inner) for outer in sorted(self.inside) for inner in sorted(self.inside[outer])]

    def compare_picture(self):
        """In docs/design.md each lock stands once, and above those that may be taken inside it."""
        with open(f'{TOP}/docs/design.md', encoding='utf-8') as file:
            picture = re.search(r'^## Lock order\n.*?```text\n(.*?)```', file.read(), re.M | re.S)
        rows = picture[1].splitlines() if picture else []
        place = {}
        for row, line in enumerate(rows):
            for name in re.findall(r'\w+->\w+|\w+_lock\b|memory', line):
                if name in place:
                    self.wrong.append(f'docs/design.md, Lock order: {name} stands twice')
                place[name] = row
        for name in sorted(self.inside.keys() ^ place.keys()):
            if name != 'memory':
                self.wrong.append(f'docs/design.md, Lock order: {name} is missing, or is no lock')
        for outer, inner in self.pairs():
            if place.get(outer, -1) >= place.get(inner, len(rows)):
                self.wrong.append(f'docs/design.md, Lock order: {outer} does not stand above {inner}')

    def compare_record(self):
        """The rules are the pairs that a run has seen."""
        for outer, inner in sorted(recorded() - set(self.pairs())):
            self.wrong.append(f'tests/locks: lockdep has seen {inner} inside {outer}, which no rule allows')
        for outer, inner in sorted(set(self.pairs()) - recorded()):
            self.wrong.append(f'tests/locks: no run has exercised the rule of {outer} that allows {inner}')


def recorded():
    """The pairs that lockdep has seen in some run."""
    with open(RECORD, encoding='utf-8') as file:
        return {tuple(line.split()) for line in file if not line.startswith('#')}


def seen(path):
    """Read what lockdep has seen. Returns pairs of outer and inner locks, and the contexts of each lock."""
    pairs, contexts = set(), {}
    with open(path, encoding='utf-8', errors='replace') as file:
        for line in file:
            words = line.split()
            if words[:3] == ['#', 'lockdep', 'inside'] and len(words) == 5:
                pairs.add((short(words[3]), short(words[4])))
            elif words[:3] == ['#', 'lockdep', 'lock']:
                contexts.setdefault(short(words[4]), set()).add(words[3])
    return pairs, contexts


def main():
    """Run the checks."""
    order = Order()
    order.compare_picture()
    if len(sys.argv) == 1:
        order.compare_record()
        for line in order.wrong:
            print(line)
        return 1 if order.wrong else 0
    pairs, contexts = seen(sys.argv[1])
    results = Results()
    results.result('each lock has a rule, and docs/design.md agrees', order.wrong)
    ours = order.inside.keys()
    took = {pair for pair in pairs if pair[0] in ours and pair[1] in ours | {'memory'}}
    allowed = set(order.pairs())
    results.result('lockdep has seen no order of two locks that no rule allows',
                   [f'{inner} inside {outer}' for outer, inner in sorted(took - allowed)])
    results.result('tests/locks has all orders that lockdep has seen',
                   [f'add {outer} {inner}' for outer, inner in sorted((took & allowed) - recorded())])
    results.result('most rules were exercised', [] if 10 * len(took) >= 9 * len(allowed) else ['see below'])
    for outer, inner in sorted(allowed - took):
        print(f'# figure: no task took {inner} inside {outer}')
    irq = {name for name in ours if any(set('-?') & set(states) for states in contexts.get(name, ()))}
    results.result('interrupts take the locks of which the rule says so',
                   sorted(irq ^ order.interrupts))
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
