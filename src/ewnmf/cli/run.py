"""The group of commands, each loaded when it is asked for, and what a failure looks like."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from ewnmf import __version__

__all__ = ["group", "run"]

_COMMANDS: dict[str, str] = {
    "completion": "Print a script for the shell's completion.",
    "fit": "Factorize a table from a file.",
    "plot": "Draw components, trust, repaired points or the choice of gamma of a saved model.",
    "repair": "Find what is damaged in a table, and mend it.",
    "report": "Write one HTML file that shows what a saved model makes of data.",
    "reproduce": "Make the tables and figures of the paper from the real data.",
    "transform": "Codes of new points under a saved model, or the points with their gaps filled.",
    "weights": "Weights of the entries of new points.",
}
"""Command -> its help in short. It is the function of that name in the module of that name, loaded when it is run."""

FAILED, BUG, INTERRUPTED = 2, 1, 130
_NO_ARGUMENTS: type[click.UsageError] = getattr(
    click.exceptions, "NoArgsIsHelpError", click.exceptions.BadArgumentUsage
)
"""Older versions of click show the help themselves."""


class _LazyGroup(click.Group):
    """A group that imports a command's module when the command is run: its own ``--help`` needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(import_module(f"ewnmf.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="ewnmf")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def group(debug: bool) -> None:
    """Entropy weighted nonnegative matrix factorization."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; errors of the user's input or the machine end in a sentence and exit code 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    # --debug may stand anywhere: it is no part of what a command does.
    rest = [argument for argument in given if argument != "--debug"]
    try:
        answer = group.main(args=rest, prog_name="ewnmf", standalone_mode=False)
        return answer if isinstance(answer, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("ewnmf: interrupted.\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; Python would complain once more while it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except _NO_ARGUMENTS as error:
        sys.stderr.write(f"{error.format_message()}\n")
        return FAILED
    except click.ClickException as error:
        return _fail(error.format_message(), debug, FAILED)
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        return _fail(str(error) or type(error).__name__, debug, FAILED)
    except Exception as error:
        return _fail(f"unexpected {type(error).__name__}: {error} (--debug shows where)", debug, BUG)


def _fail(message: str, debug: bool, code: int) -> int:
    if debug:
        traceback.print_exc()
    sys.stderr.write(f"ewnmf: {' '.join(message.split())}\n")
    return code
