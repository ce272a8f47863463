"""Whose hash a table of libstdc++ has."""

from __future__ import annotations

import pytest

from whyperf.recording.names.hash_tables import hash_of, walks_bucket

_MAP = (
    "std::_Hashtable<Point, std::pair<const Point, int>, std::allocator<std::pair<const Point, int> >, "
    "std::__detail::_Select1st, std::equal_to<Point>, {hash}, std::__detail::_Mod_range_hashing, "
    "std::__detail::_Default_ranged_hash, std::__detail::_Prime_rehash_policy, "
    "std::__detail::_Hashtable_traits<true, false, true> >::{function}"
)


@pytest.mark.parametrize("own", ["PointHash", "geo::Hash<int, (geo::Kind)2>"])
def test_the_programs_own_hash_is_named(own: str) -> None:
    assert hash_of(_MAP.format(hash=own, function="_M_find_before_node")) == own


def test_the_standard_librarys_own_is_nobodys_mistake() -> None:
    assert hash_of(_MAP.format(hash="std::hash<Point>", function="_M_find_before_node")) == ""
    assert hash_of("look_up") == ""


def test_only_what_goes_from_node_to_node_walks() -> None:
    assert walks_bucket(_MAP.format(hash="PointHash", function="_M_find_before_node"))
    assert not walks_bucket(_MAP.format(hash="PointHash", function="_M_rehash"))
    assert not walks_bucket("Grid::_M_find_before_node")
