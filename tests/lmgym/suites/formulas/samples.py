"""Formulas shared by the tests: every shape found in the published suites, with its chance level."""

from __future__ import annotations


def ref(name: str) -> str:
    """Return a reference to region 1 of a condition."""
    return f"(1;%{name}%)"


def spell(shape: str) -> str:
    """Return the formula of a shape such as ``[v1>v2]&[v3<v4]``: v1 becomes a reference to region 1 of c1,
    and so on."""
    for number in range(9, 0, -1):
        shape = shape.replace(f"v{number}", ref(f"c{number}"))
    return shape


PUBLISHED_SHAPES = {
    "[v1+v2]<[v3+v4]": 0.5,
    "[v1-v2]+[[v3+v4]-[v5+v6]]>0": 0.5,
    "[v1>v2]&[v3<v4]": 0.25,
    "[v1=v2]&[v3=v4]": 0.0,
    "v1>v2": 0.5,
    "[v1<v2]&[v3<v4]&[v1<v4]": 5 / 24,
    "[v1<v2]&[v3<v4]": 0.25,
    "[v1>v2]&[[v3+v4]>[v5+v6]]": 0.25,
    "[v1-v2]+[v3-v4]>0": 0.5,
    "[v1>v2]&[v1>v3]": 1 / 3,
    "[v1>v2]&[v3=v4]": 0.0,
    "[v1>v2]&[v2=v3]": 0.0,
    "[v1-v2]-[v3-v4]>0": 0.5,
}
INTERACTION = "[v1>v2]&[v1>v3]&[[v1-v2]>[v3-v4]]"
