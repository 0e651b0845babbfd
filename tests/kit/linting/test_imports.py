from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.kit.linting.imports import check
from tests.kit.linting.writing import subject

SCORES = """
{imports}

class A(ScorePlugin):
    def score_node(self, pod, node):
        return {call}
"""


@pytest.mark.parametrize(
    ("imports", "call", "words"),
    [
        pytest.param(
            "import random", "random.random()", "score_node uses random: it draws", id="random"
        ),
        pytest.param(
            "from random import choice as c", "c([1])", "random.choice", id="another name"
        ),
        pytest.param("import time", "time.time()", "reads the clock", id="time"),
        pytest.param(
            "from datetime import datetime", "datetime.now().hour", "datetime", id="datetime"
        ),
        pytest.param(
            "import urllib.request", "urllib.request", "asks the network", id="a dotted module"
        ),
        pytest.param(
            "import kubernetes.client as k", "k.V1Pod", "asks the network", id="Kubernetes' client"
        ),
        pytest.param("", "len(open('x').read())", "leaves the process", id="files"),
        pytest.param("", "hash(pod.namespace) % 100", "another one in every process", id="hash"),
        pytest.param("", "np.random.rand()", "draws at random", id="NumPy's dice"),
    ],
)
def test_what_a_decision_must_not_use(tmp_path: Path, imports: str, call: str, words: str) -> None:
    (finding,) = check(subject(tmp_path, SCORES.format(imports=imports, call=call)))
    assert words in finding.message


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "import time\n\nclass A(ScorePlugin):\n"
            "    async def postbind(self, pod, node, state):\n        time.time()\n",
            id="in a coroutine",
        ),
        pytest.param(
            "from datetime import timedelta\nfrom urllib.parse import quote\n\nclass A(ScorePlugin):\n"
            "    def score_node(self, pod, node):\n        return len(quote('x')) + timedelta(1).days\n",
            id="harmless parts",
        ),
        pytest.param(
            "import random\n\nclass A(ScorePlugin):\n"
            "    def setup(self):\n        self.table = random.Random(7)\n",
            id="at start",
        ),
        pytest.param(
            "from datetime import datetime\n\nclass A(ScorePlugin):\n"
            "    def score_node(self, pod: datetime, node) -> datetime:\n        return 1\n",
            id="in annotations",
        ),
    ],
)
def test_what_it_may(tmp_path: Path, body: str) -> None:
    assert list(check(subject(tmp_path, body))) == []


def test_the_line_is_named(tmp_path: Path) -> None:
    (finding,) = check(subject(tmp_path, SCORES.format(imports="import time", call="time.time()")))
    assert finding.line == 6
