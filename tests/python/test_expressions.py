"""Expressions over branches: Python syntax, ROOT spelling, nothing dangerous."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sapwood import errors
from sapwood.query.expressions import parse

VALUES: dict[str, Any] = {
    "x": np.array([1.0, 2.0, 3.0]),
    "n": np.array([0, 1, 2]),
    "ok": np.array([True, False, True]),
    "jet.pt": np.array([10.0, 20.0, 30.0]),
    "weird name": np.array([5, 6, 7]),
}


def value(text: str) -> Any:
    return parse(text, VALUES.__contains__).evaluate(VALUES.__getitem__)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", [1, 2, 3]),
        ("x**2 + 1", [2, 5, 10]),
        ("-x // 2", [-1, -1, -2]),
        ("sqrt(x*x)", [1, 2, 3]),
        ("arctan2(x, x) == atan2(x, x)", [True, True, True]),
        ("(x > 1) & ok", [False, False, True]),
        ("(x > 1) | ~ok", [False, True, True]),
        ("x > 1 && ok", [False, False, True]),
        ("x > 2 || n == 0", [True, False, True]),
        ("!ok", [False, True, False]),
        ("!ok == ok", [False, False, False]),
        ("!(x > 1) && n != 5", [True, False, False]),
        ("x > 1 and not ok", [False, True, False]),
        ("1 < x < 3", [False, True, False]),
        ("jet.pt / 10", [1, 2, 3]),
        ("get('jet.pt') + get(\"weird name\")", [15, 26, 37]),
        ("where(ok, x, -x)", [1, -2, 3]),
        ("x if ok else -x", [1, -2, 3]),
        ("x[ok]", [1, 3]),
        ("n & 1 == 1", [False, True, False]),
        ("(n & 1) > 0", [False, True, False]),
        ("x > (n & 1)", [True, True, True]),
        ("abs(-x)", [1, 2, 3]),
        ("pow(x, 2)", [1, 4, 9]),
        ("factorial(n + 2)", [2, 6, 24]),
        ("round(erf(x), 3)", [0.843, 0.995, 1.0]),
        ("n ^ 1", [1, 0, 3]),
        ("2**3", 8),
        ("x\n + 1", [2, 3, 4]),
    ],
)
def test_value(text: str, expected: Any) -> None:
    np.testing.assert_allclose(value(text), expected)


@pytest.mark.parametrize(
    ("text", "column"),
    [("x > 1 & n > 1", 5), ("x == 1 | n > 1", 6), ("x > 1 & ok", 5), ("n & ok > 1", 1), ("(x) & (n) > 1", 1)],
)
def test_a_bitwise_operator_beside_a_comparison_needs_parentheses(text: str, column: int) -> None:
    with pytest.raises(errors.ExpressionError, match=r"has no parentheses.*write 'and'") as raised:
        value(text)
    assert raised.value.column == column


def in_awkward(text: str) -> Any:
    """The value with Awkward Arrays, which have other errors than NumPy's."""
    ak = pytest.importorskip("awkward")
    values = {"lists": ak.Array([[1.5], [], [2.5]]), "words": ak.Array(["a", "b", "c"])}
    values |= {name: ak.Array(array) for name, array in VALUES.items()}
    return parse(text, values.__contains__).evaluate(values.__getitem__)


@pytest.mark.parametrize("evaluate", [value, in_awkward])
@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("x == 'a'", 1),
        ("'a' != n", 1),
        ("x < 'a'", 1),
        ("x || 'a'", 1),
        ("n > 1 && 'a'", 1),
        ("1 + (ok == 'a')", 6),
        ("!'a'", 1),
        ("-'a'", 1),
        ("sqrt('a')", 1),
        ("x if 'a' else n", 1),
    ],
)
def test_text_beside_numbers_is_refused_with_its_place(
    evaluate: Callable[[str], Any], text: str, column: int
) -> None:
    with pytest.raises(errors.ExpressionError, match="text can only be compared") as raised:
        evaluate(text)
    assert raised.value.column == column and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("lists == 'a'", "text can only be compared with text"),
        ("words == x", "text can only be compared with text"),
        ("words < 'b'", "text can only be compared with == or !="),
        ("words + words", "text can only be compared"),
        ("where(x > 1, 'a', 'b')", "chooses between numbers"),
        ("lists[x]", "an index must hold whole numbers or booleans"),
        ("x[lists > 1]", "the index has more levels of lists"),
        ("lists + lists[lists > 2]", "the lists of an entry have different lengths"),
        ("lists[:, 'pt']", "has no fields"),
    ],
)
def test_errors_of_lists_and_text_are_in_terms_of_the_expression(text: str, reason: str) -> None:
    with pytest.raises(errors.ExpressionError, match=f"cannot be computed: .*{reason}"):
        in_awkward(text)


def test_text_is_compared_with_text() -> None:
    assert in_awkward("words == 'b'").tolist() == [False, True, False]
    assert in_awkward("words != words").tolist() == [False, False, False]


@pytest.mark.parametrize("evaluate", [value, in_awkward])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("n.x", "'n' has no field 'x'"),
        ("n['x']", "'n' has no field 'x'"),
        ("~x", "'~' works on whole numbers and booleans only.*write 'not'"),
        ("(x & n) > 1", "'&' works on whole numbers and booleans only.*write 'and'"),
        ("n << x", "'<<' works on whole numbers and booleans only"),
    ],
)
def test_errors_of_operators_and_fields_are_in_terms_of_the_expression(
    evaluate: Callable[[str], Any], text: str, reason: str
) -> None:
    with pytest.raises(errors.ExpressionError, match=reason) as raised:
        evaluate(text)
    assert "ufunc" not in str(raised.value) and "slices" not in str(raised.value)


@pytest.mark.parametrize("text", ["n[1]", "x[-1]", "x[1:]", "x[::-1]", "x[n]", "x[0] + x", "x[(0, 1)]"])
def test_entries_are_not_selected_by_their_position(text: str) -> None:
    with pytest.raises(errors.ExpressionError, match=r"position.*\[:, "):
        value(text)


def test_items_are_selected_by_their_position() -> None:
    ak = pytest.importorskip("awkward")
    values = {"pt": ak.Array([[1.0, 2.0], [], [3.0]]), "index": ak.Array([[1], [], [0]])}

    def of(text: str) -> Any:
        return parse(text, values.__contains__).evaluate(values.__getitem__).to_list()

    assert of("pt[:, :1]") == [[1.0], [], [3.0]] and of("pt[index]") == [[2.0], [], [3.0]]
    with pytest.raises(errors.ExpressionError, match=r"an entry has fewer items.*slice"):
        of("pt[:, 0] > 1")


@pytest.mark.parametrize("as_awkward", [False, True])
def test_integers_beyond_int64_are_exact(as_awkward: bool) -> None:
    numbers = np.array([2**63 + 1, 1, 2**64 - 1], "u8")
    column = pytest.importorskip("awkward").Array(numbers) if as_awkward else numbers
    for text, expected in {
        "u == 9223372036854775809": [True, False, False],
        "9223372036854775808 < u < 18446744073709551615": [True, False, False],
        "u > 9223372036854775807 + 1": [True, False, True],
        "u & 9223372036854775808": [2**63, 0, 2**63],
        "where(u > 1, 9223372036854775809, u)": [2**63 + 1, 1, 2**63 + 1],
        "9223372036854775809 if u > 1 else u": [2**63 + 1, 1, 2**63 + 1],
        "u < 18446744073709551615 + 1": [True, True, True],
        "u == -1": [False, False, False],
        "-1 < u <= 5": [False, True, False],
    }.items():
        assert parse(text, {"u"}.__contains__).evaluate({"u": column}.__getitem__).tolist() == expected, text
    with pytest.raises(errors.ExpressionError, match="18446744073709551616 does not fit in 64 bits"):
        parse("u & (18446744073709551615 + 1)", {"u"}.__contains__).evaluate({"u": column}.__getitem__)


def test_a_number_must_fit_in_64_bits() -> None:
    with pytest.raises(errors.ExpressionError, match="64 bits"):
        value(f"x > {1 << 64}")


def test_names_are_those_of_branches_with_dots_and_quotes() -> None:
    expression = parse("jet.pt + x*x - get('weird name') + nowhere", VALUES.__contains__)
    assert expression.names == ("jet.pt", "x", "weird name", "nowhere")


def test_a_dot_after_a_branch_is_a_field() -> None:
    record = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    expression = parse("p.b * 2", {"p"}.__contains__)
    assert expression.names == ("p",)
    assert expression.evaluate({"p": record}.__getitem__).tolist() == [4.0]


def test_the_operators_of_root_in_quotes_are_text() -> None:
    assert parse('get("a&&b!c")', {"a&&b!c"}.__contains__).names == ("a&&b!c",)


def test_per_entry_functions_of_root() -> None:
    ak = pytest.importorskip("awkward")
    jagged = ak.Array([[1.0, 2.0], [], [3.0]])
    get = {"pt": jagged}.__getitem__

    def of(text: str) -> list[Any]:
        return parse(text, {"pt"}.__contains__).evaluate(get).to_list()

    assert of("Sum$(pt)") == [3.0, 0.0, 3.0]
    assert of("Length$(pt)") == [2, 0, 1]
    assert of("Max$(pt)") == [2.0, None, 3.0]
    assert of("Any$(pt > 2)") == [False, False, True]
    assert of("Sum$(pt > 1 && pt < 3) == 1") == [True, False, False]
    assert of("erf(pt) > 0.9") == [[False, True], [], [True]]


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "x.__class__",
        "(lambda: x)()",
        "[i for i in x]",
        "open('f')",
        "x.tofile('f')",
        "get(x)",
        "get('x', 1)",
        "sqrt(x, out=x)",
        "f'{x}'",
        "'a' * 1000000000",
        "1 << 1000000000",
        "1j * x",
        "x @ x",
        "x in n",
        "x is n",
        "{1: 2}",
        "-" * 20_000 + "x",
        "(" * 5_000 + "x" + ")" * 5_000,
        "+".join(["x"] * 4_000),
    ],
)
def test_expressions_other_than_arithmetic_are_refused(text: str) -> None:
    with pytest.raises((errors.UsageError, SyntaxError)):
        value(text)


@pytest.mark.parametrize("text", ["", "x +", "x; n", "x = 1", "import os", "sqrt(", "x ? 1 : 2"])
def test_invalid_expressions_are_syntax_errors(text: str) -> None:
    with pytest.raises(SyntaxError):
        value(text)


def test_a_pattern_in_place_of_an_expression_names_the_filter() -> None:
    with pytest.raises(errors.ExpressionError, match=r"looks like a pattern: .* filter_name='Muon_\*'"):
        value("Muon_*")


@pytest.mark.parametrize(
    "text",
    ["Any$(MuonsAuxDyn:pt > 20)", "MuonsAuxDyn:pt[:, :1] * 2", "x[x > 0] + MuonsAuxDyn:pt", "sqrt(no:x)"],
)
def test_a_colon_in_a_name_points_to_get(text: str) -> None:
    name = "no:x" if "no:" in text else "MuonsAuxDyn:pt"
    with pytest.raises(errors.ExpressionError) as caught:
        parse(text, {"x", "MuonsAuxDyn:pt"}.__contains__)
    assert f'write get("{name}")' in str(caught.value)
    assert caught.value.column == text.index(name) + 1
    assert parse(text.replace(name, f'get("{name}")'), {name}.__contains__).names[-1] == name


def test_colons_of_slices_and_texts_are_no_names() -> None:
    for text in ("x[n:ok", "x['a:b'"):
        with pytest.raises(errors.ExpressionError) as caught:
            parse(text, VALUES.__contains__)
        assert "write get" not in str(caught.value)


def test_huge_powers_of_plain_numbers_end_at_once() -> None:
    with pytest.raises(errors.UsageError):
        value("9**9**9**9")


def test_an_unknown_function_suggests_others() -> None:
    with pytest.raises(errors.UsageError, match=r"unknown function 'sqrtt'.*; did you mean 'sqrt'"):
        value("sqrtt(x)")
    with pytest.raises(errors.UsageError, match=r"unknown function 'open'.*; available: abs, sqrt, "):
        value("open(x)")


def test_uproots_functions_are_all_there() -> None:
    language = pytest.importorskip("uproot").language.python.PythonLanguage
    from sapwood.query.functions import FUNCTIONS

    assert set(language.default_functions) <= set(FUNCTIONS)
