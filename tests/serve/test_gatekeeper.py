"""Who gets in: tokens, certificates, nobody in particular; and what happens when nobody can be asked."""

from __future__ import annotations

import asyncio

import pytest

from bayplan.serve.gatekeeper import Caller, Gatekeeper, find_client_authority
from bayplan.serve.refusal import RefusedError
from bayplan.serve.reviews import User
from bayplan.testing.virtual_time import VirtualClock
from tests.serve.scene import Reviews

PROM = Caller("get", "/metrics", "Bearer good")


class Door:
    """A gatekeeper, the API server that it asks, and its clock."""

    def __init__(self, always: tuple[str, ...] = ("/healthz", "/readyz", "/livez")) -> None:
        self.reviews = Reviews({"good": "prom"}, {("prom", "/metrics")})
        self.clock = VirtualClock()
        self.keeper = Gatekeeper(self.reviews, self.reviews, self.clock, always_allow_paths=always)

    def admit(self, caller: Caller) -> User | None:
        return asyncio.run(self.keeper.admit(caller))

    def refusal(self, caller: Caller) -> RefusedError:
        with pytest.raises(RefusedError) as caught:
            self.admit(caller)
        return caught.value


def test_health_is_open_to_all_and_nobody_is_asked() -> None:
    door = Door()
    door.reviews.down = True
    assert door.admit(Caller("get", "/readyz", "Bearer nonsense")) is None
    assert door.reviews.asked == []


def test_a_known_token_with_permission() -> None:
    door = Door()
    user = door.admit(PROM)
    assert user == User("prom", ("team",), "7", {"k": ("v",)})
    spec = door.reviews.asked[1][1]
    assert spec == {
        "user": "prom",
        "uid": "7",
        "groups": ["team"],
        "extra": {"k": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


def test_a_known_token_without_permission() -> None:
    refused = Door().refusal(Caller("put", "/configz", "Bearer good"))
    assert (refused.code, refused.message) == (
        403,
        'forbidden: User "prom" cannot put path "/configz"',
    )


@pytest.mark.parametrize("header", ["", "Bearer bad", "Bearer ", "Basic Z29vZA==", "good"])
def test_whoever_shows_nothing_that_counts(header: str) -> None:
    assert Door().refusal(Caller("get", "/metrics", header)).code == 401


def test_the_cluster_may_open_a_page_to_everybody() -> None:
    door = Door()
    door.reviews.grants.add(("system:anonymous", "/metrics"))
    user = door.admit(Caller("get", "/metrics"))
    assert user is not None
    assert user.name == "system:anonymous"


def test_answers_are_kept_for_ten_seconds() -> None:
    door = Door()
    for _ in range(5):
        door.admit(PROM)
    assert [kind for kind, _ in door.reviews.asked] == ["TokenReview", "SubjectAccessReview"]
    door.clock.advance(10)
    door.reviews.tokens.clear()
    assert door.refusal(PROM).code == 401


def test_a_permission_for_one_path_is_none_for_another() -> None:
    door = Door()
    door.admit(PROM)
    assert door.refusal(Caller("get", "/configz", "Bearer good")).code == 403
    assert door.refusal(Caller("put", "/metrics2", "Bearer good")).code == 403


def test_while_the_api_server_is_away_nobody_gets_in() -> None:
    door = Door()
    door.reviews.down = True
    assert door.refusal(PROM).code == 401


def test_when_it_goes_away_between_the_two_questions() -> None:
    door = Door()
    door.admit(PROM)
    door.reviews.down = True
    assert door.refusal(Caller("get", "/configz", "Bearer good")).code == 500


def certificate(name: str, *groups: str) -> dict[str, object]:
    rdns = [(("organizationName", group),) for group in groups]
    return {"subject": (*rdns, (("commonName", name),))}


def test_a_certificate_names_user_and_groups() -> None:
    door = Door()
    door.reviews.grants.add(("alice", "/metrics"))
    user = door.admit(Caller("get", "/metrics", certificate=certificate("alice", "ops")))
    assert user == User("alice", ("ops", "system:authenticated"))


def test_masters_get_in_without_a_question() -> None:
    door = Door()
    door.reviews.down = True
    caller = Caller("get", "/metrics", certificate=certificate("admin", "system:masters"))
    assert door.admit(caller) is not None


def test_a_certificate_without_a_name_is_nobody_s() -> None:
    assert Door().refusal(Caller("get", "/metrics", certificate={"subject": ()})).code == 401


def test_further_paths_can_be_opened() -> None:
    door = Door(("/metrics", "/open/*"))
    assert door.admit(Caller("get", "/metrics")) is None
    assert door.admit(Caller("get", "/open/x")) is None
    assert door.refusal(Caller("get", "/metrics/resources")).code == 401
    assert door.refusal(Caller("get", "/healthz")).code == 401


def test_without_anybody_to_ask_nobody_is_known() -> None:
    keeper = Gatekeeper(None, None, VirtualClock())
    with pytest.raises(RefusedError):
        asyncio.run(keeper.admit(PROM))


def test_the_cluster_s_client_authority() -> None:
    reviews = Reviews()
    assert asyncio.run(find_client_authority(reviews)) == "PEM"
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    assert reviews.asked == [(path, {})]
    reviews.down = True
    assert asyncio.run(find_client_authority(reviews)) == ""
