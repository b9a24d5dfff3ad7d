"""The page of environment variables lists what the code reads, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "environment.md"
OWN = re.compile(r"\bSAPWOOD_[A-Z_]+[A-Z]\b")
STANDARD = re.compile(
    r'"(BEARER_TOKEN(?:_FILE)?|(?:X509_|AWS_|GOOGLE_|AZURE_|XDG_|S3_|REQUESTS_CA|CURL_CA)[A-Z0-9_]*[A-Z0-9]|HOME'
    r'|(?:https?|all|no)_proxy|(?:HTTPS?|ALL|NO)_PROXY)"'
)
OTHERS = {"GLIDEIN_CMSSite", "SSL_CERT_FILE", "SSL_CERT_DIR"}
"""A variable of batch systems, and those that a library reads for sapwood."""


def sources() -> str:
    """The code of the package, without that of tests and test servers."""
    crates = (file for file in ROOT.glob("crates/*/src/**/*.rs") if "testkit" not in file.parts)
    return "".join(file.read_text() for file in [*crates, *ROOT.glob("python/sapwood/**/*.py")])


def test_the_page_lists_the_variables_that_the_code_reads() -> None:
    code = sources()
    read = {*OWN.findall(code), *STANDARD.findall(code)}
    listed = set(re.findall(r"`([A-Za-z0-9_]+)`", PAGE.read_text())) - OTHERS
    listed = {name for name in listed if "_" in name or name == "HOME"}
    options = {name for name in listed if name.islower() and not name.endswith("_proxy")}
    assert listed - options == read
