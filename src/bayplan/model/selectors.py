"""All kinds of selectors, from one place.

Labels (``label_selectors``), nodes (``node_selectors``) and text (``selector_text``) have a file each; nobody outside
this package needs to know which.
"""

from bayplan.model.label_selectors import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    LabelSelectorRequirement,
    Operator,
    Requirement,
    Selector,
    compile_label_selector,
    parse_int64,
    requirement,
    selector_from_map,
    selector_of,
)
from bayplan.model.node_selectors import (
    NameRequirement,
    NodeMatcher,
    NodePreferences,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeTerm,
    PreferredSchedulingTerm,
    compile_node_selector,
    compile_preferred_terms,
    named_nodes,
)
from bayplan.model.selector_text import (
    FieldRequirement,
    FieldSelector,
    parse_field_selector,
    parse_selector,
)

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "FieldRequirement",
    "FieldSelector",
    "LabelSelector",
    "LabelSelectorRequirement",
    "NameRequirement",
    "NodeMatcher",
    "NodePreferences",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "NodeTerm",
    "Operator",
    "PreferredSchedulingTerm",
    "Requirement",
    "Selector",
    "compile_label_selector",
    "compile_node_selector",
    "compile_preferred_terms",
    "named_nodes",
    "parse_field_selector",
    "parse_int64",
    "parse_selector",
    "requirement",
    "selector_from_map",
    "selector_of",
]
