"""The page of environment variables lists what the code reads, and nothing else, and says when."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "environment.md"
NAME = r"[A-Z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*"
LIKE_A_VARIABLE = re.compile(r'"([A-Z][A-Z0-9]*(?:_[A-Za-z0-9]+)+|[a-z]+_proxy)"')
"""A literal with an underscore that begins with a word in capitals: the code may read this variable."""
READ = re.compile(
    r"(?:(?:environ(?:ment)?|\bself)(?:\.get\(|\.first\(|\.is_set\(|\[)|env::var(?:_os)?\(|getenv\(|_first_of\()([^)\]]*)"
)
NO_VARIABLES = re.compile(r"(?:CARGO_|HLT_|MET_|PV_|SV_|T[0-3]_).*|FULL_OBJECT|SERVICE_ACCOUNT")
"""Branches, sites and words of protocols that look like variables."""
BY_LIBRARIES = {
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "COLUMNS", "NO_COLOR", "XRD_REQUESTTIMEOUT", "XRD_CONNECTIONWINDOW"),
}
"""What libraries read for sapwood."""


def sources() -> list[str]:
    """The code of the package, without that of tests and test servers."""
    crates = (file for file in ROOT.glob("crates/*/src/**/*.rs") if "testkit" not in file.parts)
    files = [*crates, *ROOT.glob("python/sapwood/**/*.py"), *ROOT.glob("native/**/*.*")]
    return [file.read_text() for file in files if file.suffix in (".rs", ".py", ".cc", ".h")]


def variables(code: str) -> set[str]:
    """The variables that a text of the code reads, or may read."""
    found = set(LIKE_A_VARIABLE.findall(code))
    for arguments in READ.findall(code):
        found.update(re.findall(rf'"({NAME})"', arguments))
    return {name for name in found if not NO_VARIABLES.fullmatch(name)}


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_lists_the_variables_that_the_code_reads() -> None:
    read = set().union(*map(variables, sources()))
    assert len(read) > 60
    listed = {name for row in rows() for name in re.findall(r"`([A-Za-z0-9_]+)`", row[0])}
    # Other names of the same thing are in the second column.
    listed |= {name for row in rows() for name in re.findall(r"`(S3_[A-Z_]+|GLIDEIN_\w+)`", row[1])}
    assert listed == read | BY_LIBRARIES


def test_the_page_says_when_each_variable_is_read() -> None:
    assert all(len(row) >= 3 and row[2] for row in rows())
