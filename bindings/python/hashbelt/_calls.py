# SPDX-License-Identifier: LGPL-2.1-or-later
"""The keys of calls: the name of a cached function, and its arguments.

A belt is the whole machine's. So the name has to be one that no other function of any program has.
"""

import functools
import hashlib
import inspect
import os
import sys
import types
from collections.abc import Callable
from typing import Any, Final

# Names of the module that a program begins with: each program has one.
_MAIN: Final = ("__main__", "__mp_main__")
# A key that would be longer has the beginning of the name, and a hash.
_LONGEST: Final = 256
_BEGINNING: Final = 128


def _is_plain(value: Any) -> bool:
    """Whether repr() gives two values the same text only if they are equal."""
    if type(value) is tuple:
        return all(_is_plain(part) for part in value)
    return value is None or type(value) in (str, bytes, int, float, bool)


def _place(module: str, function: Any) -> str:
    """A hash of the file of a module: modules of one name, of two programs, have two files."""
    file = getattr(sys.modules.get(module), "__file__", None)
    file = file or getattr(function, "__globals__", {}).get("__file__")
    if not file:
        return ""
    return "@" + hashlib.sha256(os.fsencode(os.path.realpath(file))).hexdigest()[:16]


def _own_name(function: Any, then: str = "pass name= or key= to cached()") -> str:
    """The name of a function or class. Raises TypeError if others have it: then says what to do."""
    module = getattr(function, "__module__", None)
    qualname = getattr(function, "__qualname__", None)
    bound = getattr(function, "__self__", None)
    if isinstance(bound, types.ModuleType):
        bound = None
    stable = module and qualname and module not in _MAIN and "<" not in module + qualname
    if not stable or not (bound is None or isinstance(bound, type)):
        shown = f"an object of {type(function).__qualname__}"
        if qualname:
            shown = f"{module}.{qualname}"
        raise TypeError(f"{shown} has no name that is its own on this machine: {then}")
    name = f"{module}.{qualname}{_place(str(module), function)}"
    return name if bound is None else f"{name}:{_own_name(bound)}"


def _signature(function: Any) -> inspect.Signature | None:
    """The parameters of a function, or None if Python does not know them.

    Those of a function that another decorator has wrapped are the decorator's: it may pass on
    others than it takes.
    """
    more: dict[str, Any] = {}
    if sys.version_info >= (3, 14):
        # An annotation may be of a name that only a type checker imports.
        import annotationlib  # pylint: disable=import-outside-toplevel,import-error
        more["annotation_format"] = annotationlib.Format.FORWARDREF
    try:
        return inspect.signature(function, follow_wrapped=False, **more)
    except (TypeError, ValueError):
        return None


class Bound(functools.partial[Any]):
    """A cached function as a method of an object or of a class."""

    def key(self, *args: Any, **kwargs: Any) -> bytes:
        """The key of a call with these arguments."""
        found: bytes = self.func.key(*self.args, *args, **kwargs)  # type: ignore[attr-defined]
        return found

    def invalidate(self, *args: Any, **kwargs: Any) -> None:
        """Forget the value of a call with these arguments: see Cached.invalidate()."""
        self.func.invalidate(*self.args, *args, **kwargs)  # type: ignore[attr-defined]


class Calls:
    """Makes the keys of the calls of a function, of which function is what is to be called."""

    def __init__(self, function: Any, name: str | None, key: Callable[..., Any] | None) -> None:
        """Name a function, a partial, a static or a class method, or an object that is called.

        name stands for its own name. With key, which makes keys itself, it needs none. Raises
        TypeError if it has none that is its own.
        """
        self._is_static = isinstance(function, staticmethod)
        self._of_class = isinstance(function, classmethod)
        self.function: Callable[..., Any] = function
        if self._is_static or self._of_class:
            self.function = function = function.__func__
        if not callable(function):
            raise TypeError(f"cached() takes what can be called, not {type(function).__name__}")
        if name is not None and key is not None:
            raise TypeError("pass name= or key= to cached(), not both: key= makes the whole key")
        self._key = key
        self._first: tuple[Any, ...] = ()
        self._keywords: dict[str, Any] = {}
        while isinstance(function, functools.partial):
            self._first = (*function.args, *self._first)
            self._keywords = {**function.keywords, **self._keywords}
            function = function.func
        self._name = ""
        if key is None:
            self._name = _own_name(function) if name is None else name
        self._shown = getattr(function, "__qualname__", self._name)
        self._signature = _signature(function)

    def bind(self, cached: Any, instance: Any, owner: Any) -> Any:
        """The cached function as an attribute of an object, or of a class where that is None."""
        if self._of_class:
            return Bound(cached, type(instance) if owner is None else owner)
        return cached if self._is_static or instance is None else Bound(cached, instance)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call, the same however they are passed."""
        args = (*self._first, *args)
        kwargs = {**self._keywords, **kwargs}
        if self._of_class and args and isinstance(args[0], type):
            args = (_own_name(args[0], "pass key= to cached()"), *args[1:])
        if self._signature is None:
            return args, tuple(sorted(kwargs.items()))
        try:
            passed = self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{self._shown}(): {error}") from None
        found: list[tuple[str, Any]] = []
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                found.append((name, tuple(sorted(passed.get(name, {}).items()))))
            elif name in passed:
                found.append((name, passed[name]))
            elif _is_plain(parameter.default):
                found.append((name, parameter.default))
        return tuple(found)

    def parts(self) -> tuple[Any, ...] | None:
        """The parts of which key() makes keys, if each argument stands for itself; else None.

        They are the text before the first argument; of each parameter its name, the text before
        its value, and the text of its default: None if it has none, and empty if the key has
        nothing of it; and how many may be passed by position.
        """
        if (self._key is not None or self._first or self._keywords or self._of_class or
                self._signature is None):
            return None
        parameters = list(self._signature.parameters.values())
        kinds = [parameter.kind for parameter in parameters]
        name = self._name.encode("utf-8", "backslashreplace")
        if set(kinds) - {inspect.Parameter.POSITIONAL_OR_KEYWORD,
                         inspect.Parameter.KEYWORD_ONLY} or len(name) > _BEGINNING:
            return None
        names = tuple(sys.intern(parameter.name) for parameter in parameters)
        befores = tuple(f"({name!r}, ".encode() for name in names)
        defaults: list[bytes | None] = []
        for parameter, before in zip(parameters, befores):
            default = parameter.default
            if default is parameter.empty:
                defaults.append(None)
            elif _is_plain(default):
                defaults.append(before + repr(default).encode("utf-8", "backslashreplace") + b")")
            else:
                defaults.append(b"")
        return (name + b":(", names, befores, tuple(defaults),
                kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD))

    def key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | bytes:
        """The key of a call: that of key=, or the name, and the arguments or their hash."""
        if self._key is not None:
            made: str | bytes = self._key(*args, **kwargs)
            return made
        arguments = self._arguments(args, kwargs)
        if not _is_plain(arguments):
            then = "pass key= to cached()"
            if args and isinstance(args[0], type):
                then += ", or put it above @classmethod"
            raise TypeError(f"the arguments of {self._shown}() make no key, for they are not only "
                            f"str, bytes, numbers, bool, None and tuples: {then}")
        text = repr(arguments).encode("utf-8", "backslashreplace")
        name = self._name.encode("utf-8", "backslashreplace")
        if len(name) > _BEGINNING or len(name) + len(text) >= _LONGEST:
            text = hashlib.sha256(name + b":" + text).hexdigest().encode()
        return name[:_BEGINNING] + b":" + text
