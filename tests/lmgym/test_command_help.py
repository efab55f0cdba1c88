"""The command `lmgym`: help, shell completion, docs/commands.md, and arguments that cannot be parsed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lmgym.cli import COMMANDS, SHELLS, help_page, main
from tests.lmgym.conftest import ROOT


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("evaluate a.json --modl x", "lmgym evaluate: unknown option --modl. Did you mean --model?"),
        ("lint a.json --qqqq", "lmgym lint: unknown option --qqqq."),
        ("score -x", "lmgym score: unknown option -x."),
        ("lmc stats --filtr all a.log", "lmgym lmc stats: unknown option --filtr. Did you mean --filter?"),
        (
            "lmc stast a.log --filter x",
            "lmgym lmc: argument COMMAND: unknown value 'stast'. Did you mean stats?",
        ),
        (
            "agents agenttest --formt json",
            "lmgym agents agenttest: unknown option --formt. Did you mean --format?",
        ),
        ("lint", "lmgym lint: the following arguments are required: SUITE."),
    ],
)
def test_arguments_that_cannot_be_read_are_one_line_without_usage(capsys, given, line) -> None:
    with pytest.raises(SystemExit) as ended:
        main(given.split())
    program = line.partition(":")[0]
    assert (ended.value.code, capsys.readouterr().err) == (
        2,
        f"{line} See {program} --help.\n",
    )


def test_commands_page_matches_the_parsers() -> None:
    """If the page is outdated, run python -m lmgym.cli.help_page."""
    page = help_page.page()
    assert help_page.FILE.read_text(encoding="utf-8") == page
    assert all(f"\n## lmgym {name}\n" in page for name in COMMANDS)


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts_contain_commands_and_options(capsys, shell) -> None:
    pytest.importorskip("shtab")
    assert main(["--print-completion", shell]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in COMMANDS)
    assert "fail-under" in out


@pytest.mark.parametrize(
    "name", [name for name, (module, _) in COMMANDS.items() if module != "lmgym.cli.site"]
)
def test_every_command_has_help(capsys, name) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: lmgym {name}" in capsys.readouterr().out


def test_help_lists_commands_without_importing_large_packages() -> None:
    code = (
        "import sys; from lmgym.cli import main; main(['--help']);"
        "print(sorted({'torch', 'transformers', 'pandas', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
    assert all(name in done.stdout for name in COMMANDS)


def test_a_closed_pipe_ends_the_command_quietly() -> None:
    command = f"{sys.executable} -m lmgym --help | head -0; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "soon"])
def test_timeout_is_a_number_of_seconds(capsys, seconds) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["wait", "run-1", "--timeout", seconds])
    assert ended.value.code == 2
    assert f"'{seconds}' is not a number of seconds" in capsys.readouterr().err
