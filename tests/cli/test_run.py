"""How the command ends: exit codes, sentences, tracebacks only when asked for."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

import ewnmf
from ewnmf.cli import main, run


@pytest.fixture
def failing(monkeypatch):
    """Let ``ewnmf fit`` raise an error."""

    def fail_with(error: BaseException) -> list[str]:
        def raising(*arguments, **options):
            raise error

        monkeypatch.setattr("ewnmf.cli.large.read_table", raising)
        return ["fit", "x.csv", "-k", "2", "-o", "surely-not-there"]

    return fail_with


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ValueError("x.csv is\nodd."), 2, "ewnmf: x.csv is odd.\n"),
        (OSError("no such thing."), 2, "ewnmf: no such thing.\n"),
        (MemoryError(), 2, "ewnmf: MemoryError\n"),
        (KeyboardInterrupt(), 130, "ewnmf: interrupted.\n"),
        (RuntimeError("oops"), 1, "ewnmf: unexpected RuntimeError: oops (--debug shows where)\n"),
    ],
)
def test_failures_are_sentences(failing, capsys, error, code, said):
    assert main(failing(error)) == code
    output = capsys.readouterr()
    assert (output.out, output.err.lstrip("\n")) == ("", said)  # click leaves the line of a ^C


@pytest.mark.parametrize("place", [0, 1, 6])
def test_debug_shows_the_traceback(failing, capsys, place):
    arguments = failing(ValueError("odd."))
    assert main([*arguments[:place], "--debug", *arguments[place:]]) == 2
    said = capsys.readouterr().err
    assert said.startswith("Traceback (most recent call last)")
    assert said.endswith("ewnmf: odd.\n")


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ewnmf, version {ewnmf.__version__}\n"
    assert main(["--help"]) == 0
    output = capsys.readouterr().out
    assert all(f"\n  {name} " in output for name in ("completion", "fit", "transform", "weights"))
    assert main(["fly"]) == 2
    assert capsys.readouterr().err.startswith("ewnmf: No such command 'fly'.")


def test_the_help_of_all_commands_loads_none_of_them():
    program = "import sys; from ewnmf.cli import main; main(['--help']); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nFalse\n")
    for name, short in run._COMMANDS.items():
        command = run.group.get_command(click.Context(run.group), name)
        assert command is not None
        assert command.get_short_help_str(200) == short


def test_without_click(capsys, monkeypatch):
    monkeypatch.setattr("ewnmf.cli.find_spec", lambda name: None)
    assert main(["--help"]) == 2
    said = "ewnmf: the command needs click, which is not installed; run: pip install 'ewnmf[cli]'\n"
    assert capsys.readouterr() == ("", said)


def test_a_reader_that_has_gone(failing, monkeypatch):
    arguments = failing(BrokenPipeError())
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run.run(arguments) == 0
        assert os.fstat(stream.fileno()).st_rdev == os.stat(os.devnull).st_rdev
    os.close(reading)
