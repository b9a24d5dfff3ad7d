"""One run of a chain, in a separate process."""

from __future__ import annotations

from dataclasses import asdict

from ..process import serve
from .running import run

if __name__ == "__main__":
    serve(lambda task: asdict(run(**task)))
