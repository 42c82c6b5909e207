"""Typer, with commands in which an option that has one value is given once: the last of two would win in silence."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand


class SingleValues(TyperCommand):
    """A command that refuses an option of one value that is given twice."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments.

        Raises
        ------
        typer.BadParameter
            An option of one value is there twice.
        """
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for param, times in Counter(order).items():
            if times > 1 and isinstance(param, typer.core.TyperOption) and not (param.multiple or param.is_flag):
                raise typer.BadParameter("It is given twice; write it once.", ctx=ctx, param=param)
        return super().parse_args(ctx, args)


class Commands(typer.Typer):
    """A group of such commands."""

    def command(self, name: str | None = None, **more: Any) -> Callable[[Any], Any]:
        """Add a command."""
        return super().command(name, **{"cls": SingleValues} | more)
