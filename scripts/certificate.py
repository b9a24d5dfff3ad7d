"""Certificates for local test servers: an authority, and a certificate for localhost that it has signed.

    python scripts/certificate.py DIR    writes authority.pem, server.pem, server.key and authorities/ to DIR

Needs `openssl`. Clients trust the authority if SSL_CERT_FILE names authority.pem (HTTP), or X509_CERT_DIR
names the folder authorities (XRootD).
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from local_server import parser

DAYS = "2"
NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n"


@dataclass(frozen=True)
class Certificate:
    """The files of a server's certificate."""

    authority: Path
    authorities: Path
    """A folder with the authority under the name that OpenSSL expects."""
    certificate: Path
    key: Path


def missing() -> str | None:
    """The missing software, or None."""
    lack = "openssl is not installed (Debian and Ubuntu: apt install openssl)"
    return None if shutil.which("openssl") else lack


def make(folder: Path) -> Certificate:
    """Makes an authority and a certificate for localhost in a folder; both are valid for two days."""
    places = [folder / name for name in ("authority.pem", "authorities", "server.pem", "server.key")]
    made = Certificate(*places)
    authority_key, request, names = folder / "authority.key", folder / "server.csr", folder / "names.cnf"
    names.write_text(NAMES)
    new, valid, subject = ["-newkey", "rsa:2048", "-nodes"], ["-days", DAYS], ["-subj", "/CN=localhost"]
    owner = ["-subj", "/CN=sapwood test authority"]
    _openssl("req", "-x509", *new, *valid, *owner, "-keyout", authority_key, "-out", made.authority)
    _openssl("req", *new, *subject, "-keyout", made.key, "-out", request)
    signer: list[str | Path] = ["-CA", made.authority, "-CAkey", authority_key, "-set_serial", "1"]
    _openssl("x509", "-req", "-in", request, *signer, *valid, "-extfile", names, "-out", made.certificate)
    made.authorities.mkdir(exist_ok=True)
    digest = _openssl("x509", "-noout", "-hash", "-in", made.authority).strip()
    shutil.copyfile(made.authority, made.authorities / f"{digest}.0")
    return made


def _openssl(*arguments: str | Path) -> str:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"openssl {arguments[0]} fails: {done.stderr[-1000:]}")
    return done.stdout


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path)
    folder: Path = options.parse_args().folder
    if (lack := missing()) is not None:
        raise SystemExit(f"certificate: {lack}")
    folder.mkdir(parents=True, exist_ok=True)
    print(make(folder).certificate)


if __name__ == "__main__":
    main()
