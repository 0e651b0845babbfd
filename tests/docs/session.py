"""A reader who tries everything on a page, from top to bottom, in one empty folder."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
import types
from contextlib import closing
from pathlib import Path
from typing import Final

import yaml
from click.testing import CliRunner

import bayplan
from bayplan.cli import main
from bayplan.embedded.builtin import builtin_kinds
from bayplan.embedded.kinds import Kinds
from bayplan.embedded.schema.checking import unknown_fields, wrong_type
from bayplan.framework.config import load_config
from bayplan.framework.plugin import Plugin
from bayplan.plugins import default_registry
from bayplan.testing.control_plane import wait_until
from bayplan.testing.control_plane.ports import Port
from tests.docs.pages import ROOT, Block

_SOURCE: Final = Path(bayplan.__file__).parents[1]
_CONFIGURATIONS: Final = {"KubeSchedulerConfiguration", "BayplanConfiguration"}
#: Commands that need a shell: pipes, redirections, several of them, the background.
_SHELL: Final = re.compile(r"[|&;<>$`]")
#: Ports of schedulers, as pages write them.
_PORT: Final = re.compile(r"\b102\d\d\b")
#: Long enough for a busy machine.
_PATIENCE_S: Final = 90


class Session:
    """One page's reader."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        for name in ("examples", "deploy"):  # as in a checkout, or after unpacking a release
            (folder / name).symlink_to(ROOT / name)
        self._module = types.ModuleType(f"docs_{name}")
        sys.modules[self._module.__name__] = self._module  # plugins look their annotations up there
        #: The ports that the page names, and free ones that stand for them: several readers may be at it.
        self._ports: dict[str, str] = {}
        self._background: list[subprocess.Popen[bytes]] = []
        self._env = {
            **os.environ,
            "PATH": os.pathsep.join(
                [str(Path(sys.executable).parent), str(ROOT / ".kube" / "bin"), os.environ["PATH"]]
            ),
            "PYTHONPATH": str(_SOURCE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "160",
            "TERM": "dumb",
            "NO_COLOR": "1",
        }

    def close(self) -> None:
        """End what was started in the background."""
        for process in self._background:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(timeout=_PATIENCE_S)
        sys.modules.pop(self._module.__name__, None)

    def do(self, block: Block) -> None:
        """Run a block, or read it as what it says it is."""
        if block.title:
            path = self._folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        match block.language:
            case "python":
                self._python(block)
            case "yaml":
                self._yaml(block)
            case "console":
                self._console(block)
            case _:
                pass

    def _python(self, block: Block) -> None:
        # On the lines that it has on the page, so that a traceback leads there.
        code = compile("\n" * (block.line - 1) + block.text, str(block.page), "exec")
        exec(code, vars(self._module))

    def _yaml(self, block: Block) -> None:
        documents = [one for one in yaml.safe_load_all(block.text) if one is not None]
        assert documents, f"{block}: nothing in it"
        if all(isinstance(one, dict) and one.get("kind") in _CONFIGURATIONS for one in documents):
            registry = default_registry()
            for value in list(vars(self._module).values()):
                if (
                    isinstance(value, type)
                    and issubclass(value, Plugin)
                    and value.__module__ == self._module.__name__
                ):
                    registry.add(value)
            loaded = load_config(block.text, registry)
            assert not loaded.warnings, f"{block}: {loaded.warnings}"
            return
        kinds = Kinds(builtin_kinds())
        for document in documents:
            if not isinstance(document, dict) or "kind" not in document:
                continue
            kind = kinds.of(str(document["apiVersion"]), str(document["kind"]))
            if kind is not None:
                assert not unknown_fields(kind, document), f"{block}: {document}"
                assert not wrong_type(kind, document), f"{block}: {document}"

    def _console(self, block: Block) -> None:
        for command, expected in commands(block):
            said = self._run(command)
            if expected and not is_like(said, expected):
                raise AssertionError(f"{block}: {command}\nprints\n{said}\nand not\n{expected}")

    def _run(self, command: str) -> str:
        command = _PORT.sub(self._port, command)
        words = shlex.split(command)
        if words[0] == "bayplan" and not _SHELL.search(command):
            done = CliRunner(env={"COLUMNS": "160"}).invoke(main, words[1:])
            if done.exit_code != 0:
                raise AssertionError(f"{command}\n{done.output}") from done.exception
            return done.output
        if command.endswith("&"):
            self._start(command.removesuffix("&"), words)
            return ""
        done_ = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self._folder,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        assert done_.returncode == 0, f"{command}\n{done_.stdout}"
        return done_.stdout

    def _port(self, named: re.Match[str]) -> str:
        if named[0] not in self._ports:
            with closing(Port()) as free:
                self._ports[named[0]] = str(free.number)
        return self._ports[named[0]]

    def _start(self, command: str, words: list[str]) -> None:
        """Something that runs on; what it writes for others has to be there before the next command."""
        log = self._folder / f".background-{len(self._background)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self._folder,
                env=self._env,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._background.append(process)
        awaited = [
            self._folder / value
            for flag, value in itertools.pairwise(words)
            if flag == "--kubeconfig" and words[1] == "cluster"
        ]
        wait_until(lambda: all(path.exists() for path in awaited), f"{awaited}", _PATIENCE_S)


def commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a console block (``$ …``, perhaps continued by a backslash), and what each should print."""
    found: list[tuple[str, list[str]]] = []
    lines = iter(block.text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line.removeprefix("$ ")
            while command.endswith("\\"):
                command = command.removesuffix("\\") + next(lines).strip()
            found.append((command, []))
        else:
            assert found, f"{block}: output before any command: {line}"
            found[-1][1].append(line)
    assert found, f"{block}: no command"
    return [(command, "\n".join(output).strip("\n")) for command, output in found]


def is_like(said: str, expected: str) -> bool:
    """Whether output is as shown: ``…`` stands for any text within a line, alone in a line for any number of lines."""
    wanted = [_spaced(line) for line in expected.splitlines()]
    pattern = ""
    for line in wanted:
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*?".join(map(re.escape, line.split("…"))) + r"\n"
    told = "".join(f"{_spaced(line)}\n" for line in said.strip("\n").splitlines())
    return re.fullmatch(pattern, told) is not None


def _spaced(line: str) -> str:
    """How wide a column is depends on what is in it, so a run of blanks counts as one."""
    return re.sub(r"\s+", " ", line.rstrip())
