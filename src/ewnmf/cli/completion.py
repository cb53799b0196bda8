"""``ewnmf completion``: the script that lets a shell complete commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["completion"]

_VARIABLE = "_EWNMF_COMPLETE"


@click.command(
    short_help="Print a script for the shell's completion.",
    epilog="""\b
Examples:
  ewnmf completion bash >> ~/.bashrc
  ewnmf completion zsh >> ~/.zshrc
  ewnmf completion fish > ~/.config/fish/completions/ewnmf.fish""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that teaches SHELL to complete ewnmf's commands, options and values.

    It needs bash 4.4 or newer, zsh or fish.
    """
    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(ctx.find_root().command, {}, "ewnmf", _VARIABLE).source())
