"""One cold read of some columns over root:// by one client, in this process; prints seconds and sums as JSON.

python bench/xrootd_client.py sapwood|uproot|ROOT URL TREE COLUMN...
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from http_client import DIGITS, ROOT_LOOP, Read, array_sums, sapwood_reader, uproot_reader

# ROOT takes a server on this machine for a local file, unless told otherwise.
OPEN = """gEnv->SetValue("TFile.ForceRemote", 1);
   std::unique_ptr<TFile> opened(TFile::Open(url));
   auto &file = *opened;"""


def root_reader() -> Read:
    import ROOT  # type: ignore[import-untyped]

    loop = ROOT_LOOP.replace("ROOT::Deprecated::TWebFile file(url);", OPEN)
    ROOT.gInterpreter.Declare("#include <TEnv.h>\n#include <memory>\n" + loop.replace("TWebFile", "TFile"))
    sum_columns = ROOT.sum_columns
    return lambda url, tree, columns: list(sum_columns(url, tree, columns))


def main() -> None:
    client, url, tree, *columns = sys.argv[1:]
    readers: dict[str, Callable[[], Read]] = {
        "sapwood": sapwood_reader,
        "uproot": uproot_reader,
        "ROOT": root_reader,
    }
    read = readers[client]()
    begin = time.perf_counter()
    result = read(url, tree, columns)
    seconds = time.perf_counter() - begin
    sums = result if client == "ROOT" else array_sums(result, columns)
    rounded = [float(f"{value:.{DIGITS}g}") for value in sums]
    print(json.dumps({"client": client, "seconds": seconds, "sums": rounded}), flush=True)


if __name__ == "__main__":
    main()
