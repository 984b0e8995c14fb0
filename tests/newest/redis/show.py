# SPDX-License-Identifier: GPL-2.0-only
"""Used by the programs in Python: each prints the results of calls."""


def show(name, call):
    """Make a call and print its result or its error."""
    try:
        print(f'{name}: {call()!r}', flush=True)
    except Exception as error:
        print(f'{name}: {type(error).__name__}: {str(error).rstrip()}', flush=True)


def about(time, left):
    """A time that is left, or "about" the one that was set if at most a tenth is gone."""
    return f'about {time}' if left is not None and time - time / 10 < left <= time else left
