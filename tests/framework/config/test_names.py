from __future__ import annotations

import pytest

from bayplan.framework.config.names import is_extended_resource, qualified_name_problems


@pytest.mark.parametrize(
    "name", ["cpu", "a.b_c-D", "example.com/gpu", "nvidia.com/mig-1g.5gb", "x" * 63]
)
def test_qualified_names(name: str) -> None:
    assert qualified_name_problems(name) == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("", "name part must be non-empty", id="empty"),
        pytest.param("a/", "name part must be non-empty", id="no name"),
        pytest.param("/a", "prefix part must be non-empty", id="no prefix"),
        pytest.param("a/b/c", "a valid label key must consist of", id="two slashes"),
        pytest.param("-a", "name part must consist of alphanumeric characters", id="a dash first"),
        pytest.param("x" * 64, "name part must be no more than 63 bytes", id="too long"),
        pytest.param("Ex.com/a", "prefix part a lowercase RFC 1123 subdomain", id="a capital"),
        pytest.param("x" * 254 + "/a", "prefix part must be no more than 253 bytes", id="long prefix"),
    ],
)
def test_no_qualified_names(name: str, problem: str) -> None:
    assert any(found.startswith(problem) for found in qualified_name_problems(name))


def test_the_examples_are_spaced_as_kubernetes_spaces_them() -> None:
    assert "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used" in qualified_name_problems("-")[0]


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        pytest.param("example.com/gpu", True, id="of a vendor"),
        pytest.param("cpu", False, id="of Kubernetes, short"),
        pytest.param("kubernetes.io/foo", False, id="of Kubernetes, long"),
        pytest.param("requests.example.com/gpu", False, id="a quota name"),
        pytest.param("x" * 250 + ".com/gpu", False, id="too long for a quota name"),
    ],
)
def test_extended_resources(name: str, extended: bool) -> None:
    assert is_extended_resource(name) is extended
