"""Parse and execute the tutorials in docs/: files to save, shell blocks with their output, and steps."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from tests.process.site import ROOT

NAMES = ("lmchallenge", "propara", "agents")
PORT = "8091"
"""Port of the agent server in the tutorial."""
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_SAVED = re.compile(r"^Save this as `([^`]+)`", re.MULTILINE)
_END = "--- done ---"


@dataclass
class Tutorial:
    """A tutorial; `sections`: text by heading."""

    name: str
    port: str = PORT
    sections: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        text = (
            (ROOT / "docs" / f"tutorial-{self.name}.md").read_text(encoding="utf-8").replace(PORT, self.port)
        )
        _, *parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
        self.sections = dict(zip(parts[::2], parts[1::2], strict=True))

    def save_files(self, folder: Path) -> None:
        text = self.sections["The files"]
        names, blocks = _SAVED.findall(text), [block[3] for block in _BLOCK.finditer(text) if not block[2]]
        for name, block in zip(names, blocks, strict=True):
            (folder / name).write_text(block, encoding="utf-8")

    def blocks(self, section: str) -> Iterator[tuple[str, str]]:
        """Yield the shell blocks of a section and what they print, in order, as (sh or text, content)."""
        for block in _BLOCK.finditer(self.sections[section]):
            if block[2] in ("sh", "text"):
                yield block[2], dedent(block[3])

    def steps(self, section: str) -> list[str]:
        """Return the numbered steps of a section, including their blocks."""
        found = re.split(r"^\d+\. ", self.sections[section], flags=re.MULTILINE)
        assert len(found) > 1
        return [re.split(r"\n\n(?=\S)", step)[0] for step in found[1:]]


class Terminal:
    """One shell for all blocks, so that later blocks can use variables set by earlier ones. A failing command
    ends it."""

    def __init__(self, folder: Path, **more: str) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = os.environ | {
            "PATH": path,
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "gym.settings",
            **more,
        }
        self.shell = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.type("set -e -o pipefail")

    def type(self, block: str) -> str:
        """Run a block, and return its output."""
        assert self.shell.stdin
        assert self.shell.stdout
        self.shell.stdin.write(f"{block}\necho\necho '{_END}'\n")
        self.shell.stdin.flush()
        said: list[str] = []
        for line in self.shell.stdout:
            if line.strip() == _END:
                return "".join(said)
            said.append(line)
        raise AssertionError(f"This failed:\n{block}\n{''.join(said)}")

    def close(self) -> None:
        if self.shell.poll() is None:
            self.shell.communicate("kill $(jobs -p) 2>/dev/null\nexit\n", timeout=60)


def walk(tutorial: Tutorial, section: str, terminal: Terminal) -> str:
    """Run every shell block, and require every line of output that the tutorial prints. Return the last output."""
    said = ""
    for kind, block in tutorial.blocks(section):
        if kind == "sh":
            said = terminal.type(block)
        else:
            assert kind == "text"
            require_output(block, said)
    return said


def require_output(block: str, said: str) -> None:
    """Require every line of the block in the output; … stands for any text."""
    for line in block.splitlines():
        wanted = r".*".join(re.escape(part.strip()) for part in line.split("…"))
        assert re.search(wanted, said.replace("\t", " ")), f"no line like “{line}” in:\n{said}"


STEP = re.compile(
    r"[Pp]ress\s+\*\*(?P<press>[^*]+)\*\*"
    r"|\*\*(?P<field>[^*]+)\*\*:\s+type\s+`(?P<text>[^`]+)`"
    r"|\*\*(?P<choice>[^*]+)\*\*:\s+choose\s+(?P<chosen>`[^`]+`(?:(?:,\s+|\s+and\s+)`[^`]+`)*)"
    r"|Tick\s+\*\*(?P<tick>[^*]+)\*\*"
    r"|Reload\s+until\s+it\s+says\s+“(?P<until>[^”]+)”"
    r"|says\s+“(?P<says>[^”]+)”"
    r"|```sh\n(?P<block>.*?)```",
    re.DOTALL,
)


def deeds(step: str) -> Iterator[dict[str, str]]:
    """Yield the actions of a numbered step, in order, as the matched groups of STEP. Lines may break anywhere."""
    for found in STEP.finditer(step):
        yield {
            name: dedent(text) if name == "block" else " ".join(text.split())
            for name, text in found.groupdict().items()
            if text is not None
        }
