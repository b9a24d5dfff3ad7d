"""Refuses options that a function does not have, under the name that the caller used, with similar ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import ParamSpec, TypeVar

from ..errors import ArgumentTypeError, nearest

P = ParamSpec("P")
T = TypeVar("T")


def unknown_option(
    function: str, name: str, known: Iterable[str], meant: str | None = None
) -> ArgumentTypeError:
    """The error that a function has no such option; ``meant`` is a better guess than the nearest name.

    >>> str(unknown_option("keys", "filter", ["filter_name", "recursive"]))
    "keys has no option 'filter'; did you mean 'filter_name'?"
    """
    near = [meant] if meant is not None else nearest(name, known, cutoff=0.6)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return ArgumentTypeError(f"{function} has no option {name!r}{hint}")


def named(options: type | None = None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Makes a method refuse unknown options under its own name.

    Python would name the class that defines it, or the method that it passes its options on to. Those
    of ``**options`` are the keys of a TypedDict.
    """

    def decorate(method: Callable[P, T]) -> Callable[P, T]:
        code = method.__code__
        known = [*code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]]
        known += [] if options is None else options.__annotations__
        name = method.__name__

        @wraps(method)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            for option in kwargs:
                if option not in known:
                    raise unknown_option(name, option, known)
            if len(args) > code.co_argcount:
                most = code.co_argcount - 1
                raise ArgumentTypeError(
                    f"{name} takes at most {most} arguments without names: name the others"
                )
            return method(*args, **kwargs)

        return checked

    return decorate
