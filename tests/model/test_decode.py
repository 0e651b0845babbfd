"""Documents to objects: what is read, what a null means, and what is said about malformed ones."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.errors import DecodeError, QuantityError
from bayplan.model.decode import (
    KINDS,
    ObjectList,
    Raw,
    UnknownKind,
    class_of,
    decode,
    decode_as,
    decode_list,
    describe,
)
from bayplan.model.meta import KubeObject, kind_of
from bayplan.model.node import Node
from bayplan.model.pod import Pod

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "default",
        "labels": {"app": "web"},
        "creationTimestamp": "2024-05-01T10:00:00Z",
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
    },
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "nginx",
                "resources": {"requests": {"cpu": "100m", "memory": 1024, "x.io/y": 0.5}},
                "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "127.0.0.1"}],
                "env": [{"name": "A", "value": "b"}],
            }
        ],
        "priority": 5,
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchFields": [{"key": "k", "operator": "In"}]}]
                }
            }
        },
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "labelSelector": {}}],
        "volumes": [{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}],
    },
    "status": {"phase": "Pending"},
}


def pod(**spec: Any) -> dict[str, Any]:
    meta = {"name": "web", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def container(**fields: Any) -> dict[str, Any]:
    return pod(containers=[fields])


FORMS = [
    pytest.param(lambda tree: tree, id="tree"),
    pytest.param(lambda tree: json.dumps(tree).encode(), id="bytes"),
    pytest.param(json.dumps, id="text"),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_pod(form: Any) -> None:
    found = decode(form(POD))
    assert isinstance(found, Pod)
    assert describe(found) == "Pod default/web"
    assert found.metadata.creation_timestamp == datetime(2024, 5, 1, 10, tzinfo=UTC)
    (only,) = found.spec.containers
    assert only.resources.requests == {"cpu": "100m", "memory": 1024, "x.io/y": 0.5}
    assert only.ports[0].host_ip == "127.0.0.1"
    assert found.priority == 5
    affinity = found.spec.affinity
    assert affinity is not None
    required = affinity.node_affinity.required
    assert required is not None
    assert required.node_selector_terms[0].match_fields[0].key == "k"
    volume = found.spec.volumes[0]
    assert volume.aws_elastic_block_store is not None
    assert volume.aws_elastic_block_store.volume_id == "vol-1"


def test_nil_and_empty_differ_where_it_matters() -> None:
    spread = {"maxSkew": 1, "topologyKey": "zone"}
    found = decode_as(Pod, pod(topologySpreadConstraints=[spread, {**spread, "labelSelector": {}}]))
    absent, empty = found.spec.topology_spread_constraints
    assert absent.label_selector is None
    assert empty.label_selector is not None
    assert absent.min_domains is None


def test_a_class_needs_no_kind() -> None:
    assert decode_as(Pod, b'{"metadata":{"name":"a"}}').name == "a"
    with pytest.raises(DecodeError, match="Pod: kind: invalid value 'Node'"):
        decode_as(Pod, b'{"kind":"Node"}')


@pytest.mark.parametrize("cls", KINDS, ids=lambda cls: cls.__name__)
def test_every_kind_is_found_by_each_of_its_versions(cls: type[KubeObject]) -> None:
    for version in cls.api_versions:
        assert class_of(version, kind_of(cls)) is cls
        assert decode({"apiVersion": version, "kind": kind_of(cls)}) == cls()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(
            {"apiVersion": "v1", "kind": "Secret"},
            "unknown kind 'Secret' in apiVersion 'v1'",
            id="no class",
        ),
        pytest.param(
            {"apiVersion": "v2", "kind": "Pod"},
            "unknown kind 'Pod' in apiVersion 'v2'",
            id="version",
        ),
        pytest.param({}, "an object without a kind", id="nothing said"),
    ],
)
def test_unknown_kinds(raw: Raw, message: str) -> None:
    with pytest.raises(UnknownKind) as caught:
        decode(raw)
    assert str(caught.value) == message


FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("tree", "message"),
    [
        pytest.param(
            container(ports=[{"hostPort": "80"}]),
            "Pod default/web: spec.containers[0].ports[0].hostPort: expected int, got str",
            id="a word for a number",
        ),
        pytest.param(
            pod(priority=2**31),
            "Pod default/web: spec.priority: expected int <= 2147483647",
            id="beyond 32 bits",
        ),
        pytest.param(
            pod(terminationGracePeriodSeconds=2**63),
            "Pod default/web: spec.terminationGracePeriodSeconds: expected int <= 9223372036854775807",
            id="beyond 64 bits",
        ),
        pytest.param(
            pod(nodeSelector={"a": "b", "c": True}),
            "Pod default/web: spec.nodeSelector.c: expected str, got bool",
            id="an entry of a map",
        ),
        pytest.param(
            container(resources={"requests": {"memory": "1Gi", "cpu": "lots"}}),
            f"Pod default/web: spec.containers[0].resources.requests.cpu: {FORMAT}",
            id="a quantity",
        ),
        pytest.param(
            container(resources={"limits": {"cpu": [1]}}),
            "Pod default/web: spec.containers[0].resources.limits.cpu: expected quantity, got array",
            id="a list for a quantity",
        ),
        pytest.param(
            pod(containers={}),
            "Pod default/web: spec.containers: expected array, got object",
            id="a map for a list",
        ),
        pytest.param(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": "n", "creationTimestamp": "now"},
            },
            "Node n: metadata.creationTimestamp: invalid RFC3339 encoded datetime",
            id="a time",
        ),
        pytest.param(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"deletionTimestamp": "2024-05-01T10:00:00"},
            },
            "Node: metadata.deletionTimestamp: expected datetime with a timezone component",
            id="a time without a zone",
        ),
        pytest.param(
            container(image=None, ports=[{"hostPort": "80"}]),
            "Pod default/web: spec.containers[0].ports[0].hostPort: expected int, got str",
            id="beside a null",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Pod", "metadata": []},
            "Pod: metadata: expected object, got array",
            id="no metadata to name it by",
        ),
    ],
)
def test_malformed(form: Any, tree: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(form(tree))
    assert str(caught.value) == message


def test_quantity_errors_keep_their_type_and_path() -> None:
    with pytest.raises(QuantityError) as caught:
        decode(pod(overhead={"cpu": "x"}))
    assert (caught.value.obj, caught.value.path) == ("Pod default/web", "spec.overhead.cpu")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(b"", "input data was truncated", id="nothing"),
        pytest.param(b'{"kind":', "input data was truncated", id="half a document"),
        pytest.param(b"{kind}", "JSON is malformed", id="no JSON"),
        pytest.param(b'{"kind":"\xff"}', "not valid UTF-8", id="no UTF-8"),
        pytest.param('{"kind":"\ud800"}', "not valid UTF-8", id="half a character"),
        pytest.param(b"[]", "expected object, got array", id="a list"),
        pytest.param(b'{"x":' + b"[" * 100_000, "nested too deeply", id="a deep document"),
        pytest.param(None, "expected object, got NoneType", id="none"),
        pytest.param(7, "expected object, got int", id="a number"),
    ],
)
def test_no_document_at_all(raw: Any, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        decode(raw)


@pytest.mark.parametrize("form", FORMS)
def test_nulls_are_zero_values(form: Any) -> None:
    tree = pod(
        containers=[None, {"name": None, "resources": {"requests": {"cpu": None}}, "ports": None}],
        nodeSelector={"a": None},
        affinity={
            "podAffinity": None,
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": None},
        },
        tolerations=None,
        priority=None,
        hostNetwork=None,
    )
    tree["status"] = None
    found = decode(form(tree))
    clean = pod(
        containers=[{}, {"resources": {"requests": {"cpu": "0"}}}],
        nodeSelector={"a": ""},
        affinity={},
    )
    assert found == decode(clean)


def test_a_tree_is_left_as_it_was() -> None:
    tree = pod(nodeName=None, nodeSelector={"a": 1})
    before = json.dumps(tree)
    with pytest.raises(DecodeError):
        decode(tree)
    assert json.dumps(tree) == before


def test_trees_of_yaml_may_hold_times_and_keys_of_any_type() -> None:
    moment = datetime(2024, 5, 1, tzinfo=UTC)
    tree = {"metadata": {"name": "a", "creationTimestamp": moment}}
    assert decode_as(Node, tree).metadata.creation_timestamp == moment
    with pytest.raises(
        DecodeError, match=r"Node: metadata\.labels: map keys: expected str, got int"
    ):
        decode_as(Node, {"metadata": {"labels": {1: "x"}}})


def test_a_tree_that_holds_itself_is_malformed() -> None:
    tree: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod"}
    tree["self"] = tree
    # Sends the decoder looking for further nulls, of which there is no end.
    tree["spec"] = {"hostNetwork": None}
    with pytest.raises(DecodeError, match="nested too deeply"):
        decode(tree)


# Lists ------------------------------------------------------------------------------------------

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}


def listed(kind: str, *items: Any) -> dict[str, Any]:
    meta = {"resourceVersion": "42", "continue": "next"}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, "items": list(items)}


@pytest.mark.parametrize("form", FORMS)
def test_lists(form: Any) -> None:
    mixed = decode_list(form(listed("List", POD, {"apiVersion": "v1", "kind": "Node"})))
    assert mixed == ObjectList((decode(POD), Node()), "42", "next")
    typed = decode_list(form(listed("NodeList", {"metadata": {"name": "n"}})))
    assert [item.key for item in typed.items] == ["n"]
    assert decode_list(form({"apiVersion": "v1", "kind": "PodList", "items": None})).items == ()
    assert decode_list(form(POD)).items == (decode(POD),)


@pytest.mark.parametrize("form", FORMS)
def test_unknown_kinds_in_lists(form: Any) -> None:
    raw = form(listed("List", SECRET, POD))
    with pytest.raises(UnknownKind, match=r"items\[0\]: unknown kind 'Secret'"):
        decode_list(raw)
    assert decode_list(raw, skip_unknown=True).items == (decode(POD),)


@pytest.mark.parametrize("form", FORMS)
def test_malformed_items(form: Any) -> None:
    with pytest.raises(
        DecodeError, match=r"^Pod default/web: spec\.priority: expected int, got str"
    ):
        decode_list(form(listed("List", pod(priority="high"))))
    with pytest.raises(DecodeError, match=r"^Pod: items\[1\]\.spec: expected object, got int"):
        decode_list(form(listed("PodList", {}, {"spec": 7})))
    with pytest.raises(DecodeError, match="expected array"):
        decode_list(form({"apiVersion": "v1", "kind": "PodList", "items": 7}))


# Normal form ------------------------------------------------------------------------------------


def test_alike_specs_encode_alike() -> None:
    encoder = msgspec.json.Encoder(order="deterministic")
    one = pod(nodeSelector={"a": "1", "b": "2"}, hostNetwork=False, tolerations=[])
    two = pod(nodeSelector={"b": "2", "a": "1"}, dnsPolicy="ClusterFirst")
    specs = [decode_as(Pod, tree).spec for tree in (one, two)]
    assert encoder.encode(specs[0]) == encoder.encode(specs[1])
    assert encoder.encode(specs[0]) == b'{"nodeSelector":{"a":"1","b":"2"}}'


def test_what_is_encoded_decodes_to_the_same() -> None:
    found = decode_as(Pod, POD)
    assert decode_as(Pod, msgspec.json.encode(found)) == found


# Damage -----------------------------------------------------------------------------------------

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


def damaged(tree: Any, where: list[int], junk: Any) -> Any:
    """The tree with junk in one place, which ``where`` chooses step by step."""
    if not where or not isinstance(tree, dict | list) or not tree:
        return junk
    step, rest = where[0], where[1:]
    if isinstance(tree, dict):
        key = sorted(tree)[step % len(tree)]
        return {**tree, key: damaged(tree[key], rest, junk)}
    copy = list(tree)
    copy[step % len(copy)] = damaged(copy[step % len(copy)], rest, junk)
    return copy


def only_decode_errors(raw: Any) -> None:
    for read in (decode, decode_list, lambda raw: decode_as(Pod, raw)):
        try:
            found = read(raw)
        except DecodeError:
            continue
        assert isinstance(found, KubeObject | ObjectList)


@given(st.lists(st.integers(0, 30), max_size=8), JUNK)
def test_junk_anywhere_in_a_pod(where: list[int], junk: Any) -> None:
    tree = damaged(POD, where, junk)
    only_decode_errors(tree)
    only_decode_errors(json.dumps(tree))


@given(st.integers(0, 10_000), st.binary(max_size=4))
def test_junk_anywhere_in_the_bytes(place: int, junk: bytes) -> None:
    raw = json.dumps(POD).encode()
    place %= len(raw)
    only_decode_errors(raw[:place] + junk + raw[place + len(junk) :])


@given(st.binary())
def test_any_bytes(raw: bytes) -> None:
    only_decode_errors(raw)


@given(JUNK)
def test_any_tree(tree: Any) -> None:
    only_decode_errors(tree)
