"""One API call on a resource, without the connection it came by: from a parsed request to a status and bytes.

Called by the HTTP side for everything but watches. Which verb it is follows from method and path; each has a method
here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from bayplan.embedded import binding, forms, patching, refusals, reviews, scales
from bayplan.embedded.deleting import DeleteOptions
from bayplan.embedded.forms import Form
from bayplan.embedded.lists import Wanted, page
from bayplan.embedded.objects import Object, encode, metadata, timestamp
from bayplan.embedded.schema import checking
from bayplan.embedded.schema.shapes import of_kind
from bayplan.embedded.selecting import Selection, selection
from bayplan.embedded.store import Store, WriteOptions
from bayplan.embedded.tables import TableForm
from bayplan.embedded.web import negotiation
from bayplan.embedded.web.negotiation import Accepted
from bayplan.embedded.web.paths import Target

#: Forms other than the object itself.
WRAPPINGS: Final = frozenset({"Table.meta.k8s.io/v1", "PartialObjectMetadata.meta.k8s.io/v1"})

_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch"}

#: Nobody asks whose these fields are, and they are written more often than all others.
_UNTRACKED: Final = frozenset({"events", "leases.coordination.k8s.io"})


@dataclass(frozen=True, slots=True)
class Call:
    """A request, parsed."""

    method: str
    target: Target
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = ""
    content_type: str = ""
    raw: bytes = b""
    user: str = reviews.ADMIN
    agent: str = ""

    @property
    def is_watch(self) -> bool:
        return self.method == "GET" and self.query.get("watch", "") in ("true", "1")

    @property
    def verb(self) -> str:
        """As RBAC calls it."""
        if self.is_watch:
            return "watch"
        if self.method == "GET" and not self.target.name:
            return "list"
        if self.method == "DELETE":
            return "delete" if self.target.name else "deletecollection"
        return _VERBS.get(self.method, self.method.lower())

    @property
    def access(self) -> reviews.Access:
        """What the caller wants to do."""
        target = self.target
        resource = target.kind.plural
        if target.subresource:
            resource = f"{resource}/{target.subresource}"
        return reviews.Access(self.verb, target.kind.group, resource, target.namespace, target.name)


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back."""

    status: int
    body: bytes
    #: Said beside the answer.
    warnings: Sequence[str] = ()


class Operations:
    """Carries calls out on a store."""

    def __init__(
        self, store: Store, *, tokens: Mapping[str, str], forbids: reviews.Forbids
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._forbids = forbids
        #: By verb, and whether the path names an object.
        self._verbs: dict[tuple[str, bool], Callable[[Call], Answer]] = {
            ("get", True): self._get,
            ("list", False): self._list,
            ("create", False): self._create,
            ("update", True): self._update,
            ("patch", True): self._patch,
            ("delete", True): self._delete,
            ("deletecollection", False): self._delete_all,
        }

    def carry_out(self, call: Call) -> Answer:
        """Do what a request asks for.

        Raises:
            RequestRefused: it cannot be done.
        """
        target = call.target
        check_verb(call)
        if target.kind.create_only:
            return self._review(call)
        if target.subresource in ("binding", "eviction"):
            return self._pod_call(call)
        do = self._verbs.get((call.verb, bool(target.name)))
        if do is None or (target.subresource and call.method == "DELETE"):
            raise refusals.method_not_allowed(target.kind.plural, target.kind.group)
        return do(call)

    def form(self, call: Call) -> Form:
        """How the caller wants what it reads.

        Raises:
            RequestRefused: 406.
        """
        accepted = negotiation.accepted(call.accept, WRAPPINGS)
        match accepted.wrapped:
            case "Table":
                include = call.query.get("includeObject", "Metadata")
                return TableForm(call.target.kind, self._store.clock, include)
            case "PartialObjectMetadata":
                return forms.MetadataOnly(call.target.kind)
            case _:
                return forms.Plain(call.target.kind)

    def selection(self, call: Call) -> Selection:
        """What a list or a watch is about.

        Raises:
            RequestRefused: 400.
        """
        query, target = call.query, call.target
        fields = query.get("fieldSelector", "")
        if target.name:
            fields = f"metadata.name={target.name}"
        return selection(target.kind, target.namespace, query.get("labelSelector", ""), fields)

    # Reading

    def _get(self, call: Call) -> Answer:
        target = call.target
        entry = self._store.entry(target.kind, target.name, target.namespace)
        if target.subresource == "scale":
            return Answer(200, encode(scales.scale_of(entry.decode())))
        return Answer(200, self.form(call).one(entry))

    def _list(self, call: Call) -> Answer:
        form = self.form(call)
        shelf = self._store.shelf(call.target.kind)
        found = page(shelf, self._store.version, self.selection(call), Wanted.of(call.query))
        return Answer(200, form.page(found))

    # Writing

    def _create(self, call: Call) -> Answer:
        target = call.target
        if target.kind.namespaced and not target.namespace:
            raise refusals.method_not_allowed(target.kind.plural, target.kind.group)
        obj = self._body(call)
        warnings = self._checked(call, obj)
        created = self._store.create(target.kind, obj, target.namespace, self._options(call))
        return self._written(call, 201, created, warnings)

    def _update(self, call: Call) -> Answer:
        target = call.target
        if target.subresource == "scale":
            return self._scale(call, negotiation.body(call.content_type, call.raw))
        obj = self._body(call)
        warnings = self._checked(call, obj)
        meta = metadata(obj)
        if meta.setdefault("name", target.name) != target.name:
            raise refusals.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({target.name})"
            )
        before = self._store.find(target.kind, target.name, target.namespace)
        updated = self._store.update(target.kind, obj, target.namespace, self._options(call))
        return self._written(call, 200 if before else 201, updated, warnings)

    def _patch(self, call: Call) -> Answer:
        target, query = call.target, call.query
        media = call.content_type.partition(";")[0].strip()
        apply = media == patching.APPLY
        warnings: list[str] = []
        patcher = partial(
            self._patched,
            call,
            warnings,
            manager=self._manager(call) if not apply else query.get("fieldManager", ""),
            time=timestamp(self._store.clock.now()),
        )
        if target.subresource == "scale":
            entry = self._store.entry(target.kind, target.name, target.namespace)
            return self._scale(call, patcher(scales.scale_of(entry.decode())))
        before = self._store.find(target.kind, target.name, target.namespace)
        if before is None and (not apply or target.subresource):
            raise refusals.not_found(target.kind.plural, target.kind.group, target.name)
        options = self._options(call)
        if apply:
            # What is applied brings its managed fields along.
            options = replace(options, manager="")
        changed = self._store.patch(target.kind, target.name, patcher, target.namespace, options)
        return self._written(call, 200 if before else 201, changed, warnings)

    def _scale(self, call: Call, scale: Object) -> Answer:
        target = call.target
        entry = self._store.entry(target.kind, target.name, target.namespace)
        workload = scales.with_scale(entry.decode(), scale)
        options = replace(self._options(call), subresource="")
        changed = self._store.update(target.kind, workload, target.namespace, options)
        return Answer(200, encode(scales.scale_of(changed)))

    def _delete(self, call: Call) -> Answer:
        target = call.target
        options = self._delete_options(call)
        last, gone = self._store.delete(target.kind, target.name, target.namespace, options)
        if not gone or target.kind.shelf == "pods":
            return self._written(call, 200, last)
        details = {"name": target.name, "group": target.kind.group, "kind": target.kind.plural}
        details["uid"] = metadata(last).get("uid", "")
        if not target.kind.group:
            del details["group"]
        status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
        return Answer(200, encode(status | {"status": "Success", "details": details}))

    def _delete_all(self, call: Call) -> Answer:
        kind = call.target.kind
        gone = self._store.delete_all(kind, self.selection(call), self._delete_options(call))
        meta = {"resourceVersion": str(self._store.version)}
        found = {"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": meta}
        return Answer(200, encode(found | {"items": gone}))

    # Other calls

    def _pod_call(self, call: Call) -> Answer:
        target = call.target
        if call.method != "POST":
            raise refusals.method_not_allowed(target.kind.plural, target.kind.group)
        body = negotiation.body(call.content_type, call.raw)
        do = binding.bind if target.subresource == "binding" else binding.evict
        dry_run = bool(call.query.get("dryRun"))
        said = do(self._store, target.namespace, target.name, body, dry_run=dry_run)
        return Answer(201, encode(said))

    def _review(self, call: Call) -> Answer:
        kind = call.target.kind
        if call.method != "POST":
            raise refusals.method_not_allowed(kind.plural, kind.group)
        body = self._body(call)
        if kind.kind == "Binding":
            name = str(metadata(body).get("name") or "")
            said = binding.bind(self._store, call.target.namespace, name, body)
        else:
            said = reviews.answer(kind.kind, body, self._tokens, self._forbids, call.user)
            said = {"kind": kind.kind, "apiVersion": kind.api_version} | said
        return Answer(201, encode(said))

    def _body(self, call: Call) -> Object:
        kind = call.target.kind
        obj = negotiation.body(call.content_type, call.raw)
        if not obj:
            raise refusals.bad_request("the request has no body")
        negotiation.check_kind(obj, kind.api_version, kind.kind)
        return obj

    @staticmethod
    def _checked(call: Call, obj: Object) -> list[str]:
        """Refuse what is not built as its kind; take unknown fields away, with a warning for each.

        Raises:
            RequestRefused: 400.
        """
        kind = call.target.kind
        why = checking.wrong_type(kind, obj)
        unknown = checking.unknown_fields(kind, obj)
        policy = call.query.get("fieldValidation") or "Warn"
        if not why and unknown and policy == "Strict":
            why = "strict decoding error: " + ", ".join(f'unknown field "{one}"' for one in unknown)
        if why:
            raise refusals.bad_request(
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}'
            )
        if unknown:
            checking.drop_unknown(obj, of_kind(kind))
        checking.tidy(obj, of_kind(kind))
        return [f'unknown field "{one}"' for one in unknown] if policy == "Warn" else []

    def _options(self, call: Call) -> WriteOptions:
        manager = "" if call.target.kind.shelf in _UNTRACKED else self._manager(call)
        return WriteOptions(manager, bool(call.query.get("dryRun")), call.target.subresource)

    @staticmethod
    def _manager(call: Call) -> str:
        return call.query.get("fieldManager") or call.agent.partition("/")[0] or "unknown"

    @staticmethod
    def _delete_options(call: Call) -> DeleteOptions:
        body = negotiation.body(call.content_type, call.raw)
        return DeleteOptions.of(body, dict(call.query))

    @staticmethod
    def _written(call: Call, status: int, obj: Object, warnings: Sequence[str] = ()) -> Answer:
        accepted: Accepted = negotiation.accepted(call.accept, WRAPPINGS)
        if accepted.wrapped == "PartialObjectMetadata":
            obj = forms.partial(call.target.kind, obj)
        return Answer(status, encode(obj), warnings)

    def _patched(
        self,
        call: Call,
        warnings: list[str],
        current: Object | None,
        *,
        manager: str,
        time: str,
    ) -> Object:
        changed = patching.patch(
            call.target.kind,
            call.content_type,
            current,
            call.raw,
            manager=manager,
            force=call.query.get("force") == "true",
            subresource=call.target.subresource,
            time=time,
        )
        if call.target.subresource != "scale":
            warnings += self._checked(call, changed)
        return changed


def check_verb(call: Call) -> None:
    """Refuse to write, or to watch, what is made when it is asked for.

    Raises:
        RequestRefused: 405.
    """
    kind = call.target.kind
    if kind.computed and call.verb not in kind.verbs:
        raise refusals.method_not_allowed(kind.plural, kind.group)


def access_message(access: reviews.Access, user: str) -> str:
    """Why something is forbidden."""
    where = (
        f' in the namespace "{access.namespace}"' if access.namespace else " at the cluster scope"
    )
    return (
        f'User "{user}" cannot {access.verb} resource "{access.resource}" '
        f'in API group "{access.group}"{where}'
    )


def check_access(call: Call, forbids: reviews.Forbids) -> None:
    """Refuse what is forbidden.

    Raises:
        RequestRefused: 403.
    """
    access = call.access
    if forbids(access):
        why = access_message(access, call.user)
        raise refusals.forbidden(access.resource, access.group, access.name, why)
