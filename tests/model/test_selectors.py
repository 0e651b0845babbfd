"""Everything about selectors is to be had from one module."""

from __future__ import annotations

from bayplan.model import label_selectors, node_selectors, selector_text, selectors


def test_all_is_sorted_and_complete() -> None:
    parts = (label_selectors, node_selectors, selector_text)
    public = {
        name
        for part in parts
        for name, what in vars(part).items()
        if getattr(what, "__module__", "") == part.__name__ and not name.startswith("_")
    }
    offered = set(selectors.__all__)
    # Written for the parts themselves.
    assert public - offered == {"requirement_problems"}
    assert all(hasattr(selectors, name) for name in offered)
