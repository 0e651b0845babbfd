from __future__ import annotations

import ast

from bayplan.kit.linting.vocabulary import vocabulary

SOURCE = '''
"""A text of no interest."""

class A:
    """nor-this"""

    def f(self, pod, node):
        if node.labels.get("disk") == "ssd" and node.usage.power > 350:
            return Rejected("no power left")
        return node.data("latency.z1") + node.free["nvidia.com/gpu"]
'''


def test_words_metrics_resources_and_numbers() -> None:
    found = vocabulary(ast.parse(SOURCE))
    assert set(found.words) == {"disk", "ssd", "latency.z1", "nvidia.com/gpu"}
    assert found.resources == ("nvidia.com/gpu",)
    assert set(found.metrics) == {"cpu", "memory", "power", "latency.z1"}
    assert found.numbers == (350.0,)
