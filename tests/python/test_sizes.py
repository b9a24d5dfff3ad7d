"""Sizes as text, such as "100 MB"."""

import pytest

from sapwood.errors import UsageError
from sapwood.options.memory import memory_size


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("100 MB", 100_000_000),
        ("1kB", 1000),
        ("1 kib", 1024),
        ("2 MiB", 2 * 1024**2),
        (".5 GB", 500_000_000),
        ("1e3 B", 1000),
        ("3 EB", 3 * 10**18),
        (" 7 b ", 7),
    ],
)
def test_units_count_in_thousands_or_in_1024s(text: str, bytes_: int) -> None:
    assert memory_size(text) == bytes_


def test_a_number_is_a_number_of_bytes() -> None:
    assert memory_size(123) == 123


@pytest.mark.parametrize("text", ["", "100", "MB", "1 XB", "1 MB/s", "one MB"])
def test_invalid_sizes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="100 MB"):
        memory_size(text)


@pytest.mark.parametrize("size", ["3 YB", "1e99999999 B", 2**63])
def test_sizes_that_no_number_of_the_core_holds_are_refused(size: str | int) -> None:
    with pytest.raises(UsageError, match="less than 8 EiB"):
        memory_size(size)


@pytest.mark.parametrize("value", [None, 1.5, True, [1]])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(TypeError):
        memory_size(value)  # type: ignore[arg-type]
