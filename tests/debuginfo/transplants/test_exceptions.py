"""Exceptions pass through transplanted functions, and land in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.debuginfo.transplants.builds import Builds, built, ran, ran_with

SOURCE = r"""
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>
#ifdef GOOD
#define WHICH "good"
#else
#define WHICH "bad"
#endif
struct Odd { int n; };
static int depth;
__attribute__((noinline)) int risky(int n) {
    if (n % 3 == 0) throw std::runtime_error("three");
    if (n % 5 == 0) throw Odd{n};
    if (n % 7 == 0) throw n;
    return n;
}
struct Guard { ~Guard() { depth--; std::printf("guard %d " WHICH "\n", depth); } };
__attribute__((noinline)) int passing(int n) {
    Guard guard;
    depth++;
    return risky(n);
}
__attribute__((noinline)) int plain(int n) {
#ifdef GOOD
    return risky(n) + 1000;
#else
    return risky(n) + 1;
#endif
}
__attribute__((noinline)) int catching(int n) {
    try {
        return passing(n) + plain(n);
    } catch (const std::exception &e) {
        std::printf("exception %s " WHICH "\n", e.what());
        return -1;
    } catch (const Odd &o) {
        std::printf("odd %d " WHICH "\n", o.n);
        return -2;
    } catch (...) {
        std::printf("anything " WHICH "\n");
        return -3;
    }
}
__attribute__((noinline)) std::string joined(const std::vector<std::string> &all) {
    std::string result;
    for (const auto &one : all) {
#ifdef GOOD
        result += one;
        result += "+";
#else
        result = result + one + "-";
#endif
        if (result.size() > 30)
            throw std::length_error(result);
    }
    return result;
}
int main() {
    for (int i = 1; i < 9; i++)
        std::printf("%d\n", catching(i));
    std::vector<std::string> all;
    try {
        for (int i = 0; i < 20; i++) {
            all.push_back("text" + std::to_string(i));
            std::printf("joined %s\n", joined(all).c_str());
        }
    } catch (const std::length_error &e) {
        std::printf("joined too long: %s\n", e.what());
    }
}
"""

JOINED = "_Z6joinedRKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS5_EE"


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    return built(tmp_path_factory.mktemp("builds"), SOURCE, language="cc")


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("_Z7passingi", ("guard",)),
        ("_Z5plaini", ("12", "24", "48", "16", "2", "3", "5", "9", "17", "1")),
        ("_Z8catchingi", ("exception", "odd", "anything")),
        (JOINED, ("joined",)),
    ],
)
def test_exceptions(tmp_path: Path, builds: Builds, function: str, says: tuple[str, ...]) -> None:
    good, bad = ran(builds.good), ran(builds.bad)
    there = ran_with(tmp_path, builds.good, builds.bad, [function])
    assert there.status == 0
    assert there.lines == [
        mine if theirs.startswith(says) else theirs for mine, theirs in zip(good.lines, bad.lines, strict=True)
    ]
    assert there.lines != bad.lines
