"""Each way in which a plugin may be wrong is found, by the rule that is about it, and nothing else is said."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from bayplan.kit.linting.report import lint
from bayplan.kit.linting.subject import Subject
from bayplan.plugins import default_registry
from tests.kit.linting.writing import linted, rules

GOOD = """
class Good(FilterPlugin, ScorePlugin):
    most: int = 3

    def filter_node(self, pod, node):
        if node.labels.get("disk") == "hdd" and node.pod_count >= self.most:
            return Rejected("busy disk")

    def score_node(self, pod, node):
        return 100 if node.zone == "z1" else 7
"""

BAD = [
    pytest.param(
        """
        class Counts(ScorePlugin):
            def setup(self):
                self.calls = 0

            def score_node(self, pod, node):
                self.calls += 1
                return self.calls % 100
        """,
        ("repeatable", "fault"),
        "when asked twice",
        id="an answer that depends on how often it was asked",
    ),
    pytest.param(
        """
        class Remembers(ScorePlugin):
            def setup(self):
                self.seen = set()

            def score_node(self, pod, node):
                self.seen.add(node.name)
                return min(100, 10 * len(self.seen))
        """,
        ("repeatable", "fault"),
        "score_node scores",
        id="an answer that depends on who was asked about before",
    ),
    pytest.param(
        """
        class Labels(FilterPlugin):
            def filter_node(self, pod, node):
                pod.requests["cpu"] = 0
        """,
        ("arguments", "fault"),
        "changes the pod",
        id="a pod that is changed",
    ),
    pytest.param(
        """
        class Missing(FilterPlugin):
            def filter_node(self, pod, node):
                if node.labels["disk"] != "ssd":
                    return Rejected("slow disk")
        """,
        ("answers", "fault"),
        "KeyError: 'disk'",
        id="a label that is taken for granted",
    ),
    pytest.param(
        """
        class Garbage(ScorePlugin):
            def score_node(self, pod, node):
                return min(100, max(0, int(node.labels.get("rank", "0"))))
        """,
        ("answers", "doubt"),
        "ValueError",
        id="a label that is taken for a number",
    ),
    pytest.param(
        """
        class SaysFalse(FilterPlugin):
            def filter_node(self, pod, node):
                return node.zone == "z1"
        """,
        ("answers", "fault"),
        "returns",
        id="a filter that returns bools",
    ),
    pytest.param(
        """
        class High(ScorePlugin):
            def score_node(self, pod, node):
                return node.free["cpu"]
        """,
        ("answers", "fault"),
        "outside of 0 to 100",
        id="scores that need scaling",
    ),
    pytest.param(
        """
        class Nan(ScorePlugin):
            def score_node(self, pod, node):
                return node.data("power")
        """,
        ("answers", "fault"),
        "scores nan",
        id="scores that are no numbers",
    ),
    pytest.param(
        """
        class Wrong(FilterPlugin):
            reads = Reads.LABELS

            def filter(self, pod, nodes, state):
                return np.ones(3, np.bool_)
        """,
        ("answers", "fault"),
        "wants a mask of 12 bools",
        id="a mask of another length",
    ),
    pytest.param(
        """
        class ByRow(PreFilterPlugin, FilterPlugin):
            reads = Reads.LABELS

            def prefilter(self, pod, view, state):
                self.mask = view.nodes.label("topology.kubernetes.io/zone") > 0

            def filter(self, pod, nodes, state):
                return self.mask[: len(nodes)].copy()
        """,
        ("repeatable", "fault"),
        "a few rows",
        id="a column form that takes every set for the whole cluster",
    ),
    pytest.param(
        """
        class TwoMinds(FilterPlugin):
            reads = Reads.USAGE
            reason = "full"

            def filter(self, pod, nodes, state):
                return nodes.pod_count < 2

            def filter_node(self, pod, node):
                return Rejected("full") if node.pod_count >= 3 else None
        """,
        ("forms", "fault"),
        "the column form says",
        id="two forms that differ",
    ),
    pytest.param(
        """
        class Forgetful(FilterPlugin):
            reads = Reads.LABELS
            reason = "full"

            def filter(self, pod, nodes, state):
                return nodes.pod_count < 2
        """,
        ("reads", "fault"),
        "is remembered, and would be",
        id="a column form that does not say what it reads",
    ),
    pytest.param(
        """
        class BehindItsBack(FilterPlugin):
            def filter_node(self, pod, node):
                busiest = max(self.handle.view.nodes.pod_count.tolist())
                return Rejected("the busiest") if node.pod_count == busiest else None
        """,
        ("reads", "fault"),
        "is remembered, and would be",
        id="a per-node form that looks at other nodes",
    ),
    pytest.param(
        """
        class Double(ScorePlugin):
            def score_node(self, pod, node):
                return node.pod_count

            def normalize(self, raw, feasible, state):
                return raw + 100
        """,
        ("answers", "fault"),
        "returns an invalid score 10",
        id="scores that are too high once normalised",
    ),
    pytest.param(
        """
        class Hinting(FilterPlugin):
            def filter_node(self, pod, node):
                return Rejected("no") if "a" in node.labels else None

            def wakes_on(self):
                return [
                    WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self.changed)
                ]

            def changed(self, pod, old, new):
                return Hint.QUEUE if old.metadata.labels != new.metadata.labels else Hint.SKIP
        """,
        ("hints", "doubt"),
        "raises AttributeError for an added object",
        id="a hint that forgets what is added",
    ),
    pytest.param(
        """
        class Truthful(FilterPlugin):
            def filter_node(self, pod, node):
                return Rejected("no") if "a" in node.labels else None

            def wakes_on(self):
                return [WakeOn(Resource.ASSIGNED_POD, Action.DELETE, lambda pod, old, new: True)]
        """,
        ("hints", "doubt"),
        "the hint on AssignedPod returns True",
        id="a hint that says True",
    ),
    pytest.param(
        """
        import random

        class Dice(ScorePlugin):
            cache = False

            def score_node(self, pod, node):
                return random.randrange(100)
        """,
        ("imports", "doubt"),
        "score_node uses random",
        id="dice of its own, and nothing remembered",
    ),
]


def test_nothing_is_said_of_a_good_plugin(tmp_path: Path) -> None:
    report = linted(tmp_path, GOOD)
    assert rules(report) == []
    assert report.is_good
    assert set(report.untried) == {"forms", "hints"}


@pytest.mark.parametrize(("body", "expected", "words"), BAD)
def test_what_is_wrong_is_found(
    tmp_path: Path, body: str, expected: tuple[str, str], words: str
) -> None:
    report = linted(tmp_path, body)
    assert rules(report) == [expected]
    assert words in report.findings[0].message
    assert report.findings[0].cure
    assert report.is_good == (expected[1] == "doubt")


def test_what_could_not_be_tried_is_not_called_good(tmp_path: Path) -> None:
    report = linted(
        tmp_path, "class A(FilterPlugin):\n    def filter_node(self, p, n):\n        return True\n"
    )
    assert set(report.untried) == {"forms", "hints", "reads"}


def test_a_plugin_of_other_points(tmp_path: Path) -> None:
    report = linted(
        tmp_path,
        "class A(PreFilterPlugin):\n    def prefilter(self, p, v, s):\n        return None\n",
    )
    assert set(report.untried.values()) == {"it neither filters nor scores"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name for name in default_registry() if "policies" in str(default_registry().get(name))],
)
def test_policies_are_good(name: str) -> None:
    plugin = default_registry().get(name)
    assert plugin is not None
    report = lint(Subject(plugin, Path(inspect.getfile(plugin))), None)
    assert rules(report) == []
