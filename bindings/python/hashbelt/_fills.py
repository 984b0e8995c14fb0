# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which threads and tasks of this process fill which keys, and wait for which.

A caller that waits for a fill holds up what it runs in: its thread, if it waits in the kernel, with
all tasks and greenlets of that thread; and each fill whose value it helps to compute. If the fill
that it would wait for is held up, by itself or by others that wait, it would wait until the lease
ends. That caller computes.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Final

from ._tasks import current_task, current_thread

# The device, the belt and the key.
Place = tuple[str, str, bytes]


class _Fill:
    """A caller that has the fill lease of a key, or may be granted it while its thread runs on."""

    __slots__ = ("thread", "waits")

    def __init__(self) -> None:
        self.thread = current_thread()
        # Where callers wait that help to compute the value.
        self.waits: list[Place] = []


# The fills whose value the code helps to compute that runs now.
_inside: "Final[ContextVar[tuple[_Fill, ...]]]" = ContextVar("hashbelt_fills", default=())
# A signal's handler may fill a key, too: the lock may be taken again.
_mutex = threading.RLock()
# All fills of this process, and where its threads wait in the kernel. Protected by _mutex.
_fills: Final[dict[Place, list[_Fill]]] = {}
_stuck: Final[dict[int, list[Place]]] = {}
# Mutexes of this process: the thread and the task that have taken each, and its token.
_mutexes: Final[dict[Place, tuple[int, int, int]]] = {}


def _after_fork() -> None:
    """The fills are the parent's: a child may wait for them."""
    global _mutex  # pylint: disable=global-statement
    _mutex = threading.RLock()
    _fills.clear()
    _stuck.clear()
    _mutexes.clear()
    _inside.set(())


os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def filling(place: Place) -> Iterator[None]:
    """Note that the caller fills a key, or waits for its lease while its thread runs on."""
    fill = _Fill()
    with _mutex:
        _fills.setdefault(place, []).append(fill)
    outer = _inside.set((*_inside.get(), fill))
    try:
        yield
    finally:
        # A coroutine that was not awaited to its end is closed elsewhere.
        with suppress(ValueError):
            _inside.reset(outer)
        with _mutex:
            others = _fills.get(place, [])
            with suppress(ValueError):
                others.remove(fill)
            if not others:
                _fills.pop(place, None)


@contextmanager
def waiting(place: Place, in_kernel: bool) -> Iterator[bool]:
    """Note that the caller waits for a fill, in the kernel or while its thread runs on.

    Says whether it would wait for itself.
    """
    thread = current_thread() if in_kernel else 0
    inside = _inside.get()
    notes = [fill.waits for fill in inside]
    with _mutex:
        if in_kernel:
            notes.append(_stuck.setdefault(thread, []))
        for note in notes:
            note.append(place)
        is_own = _leads_to(place, thread, inside)
    try:
        yield is_own
    finally:
        with _mutex:
            for note in notes:
                note.remove(place)
            if in_kernel and not _stuck.get(thread):
                _stuck.pop(thread, None)


def _leads_to(place: Place, thread: int, inside: tuple[_Fill, ...]) -> bool:
    """Whether the fill of a key waits for the thread, or for what one of the fills has to compute.

    The caller has the lock.
    """
    seen: set[Place] = set()
    left = [place]
    while left:
        place = left.pop()
        if place in seen:
            continue
        seen.add(place)
        for fill in _fills.get(place, ()):
            if fill.thread == thread or fill in inside:
                return True
            left += fill.waits
            left += _stuck.get(fill.thread, ())
    return False


def _owner() -> tuple[int, int]:
    """The thread and the task that run now."""
    with suppress(RuntimeError):
        return current_thread(), current_task()
    return current_thread(), 0


def note_mutex(place: Place, token: int) -> None:
    """Note that the caller has a mutex, which is a fill lease."""
    _mutexes[place] = (*_owner(), token)


def forget_mutex(place: Place, token: int) -> None:
    """Note that a mutex, if it is one, is given up."""
    if _mutexes.get(place, (0, 0, 0))[2] == token:
        _mutexes.pop(place, None)


def is_mutex_of_neighbour(place: Place) -> bool:
    """Whether another task or greenlet of this thread has the mutex.

    A wait would stop that one. A thread without tasks may wait, for another thread may release the
    mutex that this one has taken.
    """
    thread, task = _owner()
    owner = _mutexes.get(place)
    return owner is not None and owner[0] == thread and owner[1] != task
