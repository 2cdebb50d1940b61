"""Lineages are a forest: every child one generation after a parent of its own lineage."""

import json

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.lineage import Member, forest, lineage_document, task_id


def seed(lineage):
    return Member(task_id=lineage, lineage=lineage, generation=0, content_hash=f"{lineage}-0")


def child(lineage, generation, **changed):
    given = {
        "task_id": task_id(lineage, generation, f"{lineage}-{generation}"),
        "lineage": lineage,
        "generation": generation,
        "content_hash": f"{lineage}-{generation}",
        "parent": f"{lineage}-{generation - 1}",
        "axis": "skill",
        "effort": "high",
    }
    return Member(**{**given, **changed})


def test_a_task_id_says_lineage_generation_and_hash():
    assert task_id("csv-report", 7, "0123456789abcdef") == "csv-report-g007-01234567"


def test_edges_go_from_parent_to_child():
    graph = forest((seed("a"), child("a", 1), child("a", 2), seed("b")))
    assert sorted(graph.edges) == [("a-0", "a-1"), ("a-1", "a-2")]
    assert graph.edges["a-0", "a-1"] == {"axis": "skill", "effort": "high"}
    assert graph.nodes["a-2"]["member"].generation == 2


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ((seed("a"), child("a", 2)), "its parent a-1 is not among the members"),
        ((seed("a"), seed("b"), child("b", 1, parent="a-0")), "is generation 0 of a, expected generation 0 of b"),
        ((seed("a"), child("a", 1), child("a", 3, parent="a-1")), "is generation 1 of a, expected generation 2 of a"),
        ((seed("a"), child("a", 1, parent="")), "names no parent, but is of generation 1"),
        ((seed("a"), child("a", 1, parent="a-1")), "is generation 1 of a, expected generation 0"),
        ((seed("a"), child("a", 1), child("a", 1, task_id="twin")), "twin and a-g001-a-1 are the same environment"),
        ((seed("a"), seed("b"), seed("a")), "a and a are the same environment"),
    ],
)
def test_what_is_no_forest_is_refused_by_name(members, message):
    with pytest.raises(ValueError, match=message):
        forest(members)
    with pytest.raises(ValueError, match=message):
        lineage_document(members)


@st.composite
def forests(draw):
    members = []
    for lineage in "abc"[: draw(st.integers(1, 3))]:
        members.append(seed(lineage))
        members += [child(lineage, g) for g in range(1, draw(st.integers(0, 4)) + 1)]
    return tuple(members)


@given(forests(), st.randoms(use_true_random=False))
def test_the_document_is_the_same_in_any_order_and_networkx_reads_it(members, random):
    document = lineage_document(members)
    shuffled = random.sample(members, len(members))
    assert json.dumps(lineage_document(tuple(shuffled))) == json.dumps(document)
    graph = nx.node_link_graph(json.loads(json.dumps(document)), edges="edges")
    assert nx.utils.graphs_equal(nx.DiGraph(graph.edges), nx.DiGraph(forest(members).edges))
    assert nx.is_branching(graph)
    for member in members:
        node = dict(graph.nodes[member.content_hash])
        assert Member.model_validate(node) == member
