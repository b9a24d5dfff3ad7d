"""The wheel in a bare environment, without a compiler: what it reads, and what it says is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "scripts"))
import certificate  # noqa: E402
import nginx_server  # noqa: E402
import s3_server  # noqa: E402
import xrootd_server  # noqa: E402

WHEELS = REPOSITORY / "build" / "wheels"
MULTIARCH = sysconfig.get_config_var("MULTIARCH")
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11)}
"""The newest versions of symbols that manylinux_2_28 has."""

OPEN = "import sapwood, sys; events = sapwood.open(sys.argv[1] + ':Events'); "
READ = OPEN + "print(len(events.arrays('met')))"


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel that `make wheel` or `make local-wheel` built."""
    found = sorted(WHEELS.glob("sapwood-*.whl"), key=lambda path: path.stat().st_mtime)
    if not found:
        pytest.skip("no wheel in build/wheels (make local-wheel)")
    return found[-1]


class Bare:
    """An environment of its own, whose PATH holds no compiler."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True, timeout=120)
        self.variables = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("PIP_", "SSL_", "LANG", "LC_"))
        }
        self.variables |= {"PATH": str(folder / "venv" / "bin"), "HOME": str(folder)}

    def run(
        self, *command: str | Path, ok: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        program = self.folder / "venv" / "bin" / command[0]
        result = subprocess.run(
            [program, *command[1:]],
            env=self.variables | variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert not ok or result.returncode == 0, result.stdout + result.stderr
        return result


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Bare:
    """The wheel alone."""
    bare = Bare(tmp_path_factory.mktemp("bare"))
    assert shutil.which("cc", path=bare.variables["PATH"]) is None
    bare.run("python", "-m", "pip", "install", "--quiet", wheel)
    return bare


@pytest.fixture(scope="module")
def equipped(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Bare:
    """The wheel with the extras of the documents' first example."""
    bare = Bare(tmp_path_factory.mktemp("equipped"))
    bare.run(
        "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", f"{wheel}[xrootd,awkward]"
    )
    return bare


@pytest.fixture
def served(events_file: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder with the events that servers running as another user can read."""
    folder = tmp_path / "served"
    folder.mkdir()
    for parent in (folder, *folder.parents):
        if parent.owner() == folder.owner() and parent.is_relative_to(tmp_path.parents[1]):
            parent.chmod(0o755)
    shutil.copyfile(events_file, folder / "events.root")
    yield folder


def test_it_is_small_and_needs_no_newer_system_than_it_says(wheel: Path) -> None:
    assert wheel.stat().st_size < 12e6
    with zipfile.ZipFile(wheel) as archive:
        libraries = {name: archive.read(name) for name in archive.namelist() if name.endswith(".so")}
    shims = {"_xrdcl5.so", "_xrdcl6.so"} if sys.platform == "linux" else set()
    assert {Path(name).name for name in libraries} == {"_core.abi3.so"} | shims
    portable = {name for name in libraries if "manylinux_2_28" in wheel.name or "_xrdcl" in name}
    for name in portable:
        for kind, version in re.findall(rb"\b(GLIBC|GLIBCXX|CXXABI)_([0-9.]+)\b", libraries[name]):
            numbers = tuple(int(part) for part in version.split(b"."))
            assert numbers <= NEWEST[kind.decode()], (name, kind, version)


@pytest.mark.skipif(sys.platform != "linux", reason="perf is there on Linux only")
def test_its_own_functions_and_those_of_codecs_have_names_in_profiles(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        core = archive.read("sapwood/_core.abi3.so")
    assert b".symtab" in core
    assert b"ZSTD_decompressSequences" in core
    assert re.search(rb"_ZN\d+sapwood_ttree\d", core)


def test_it_carries_the_licences_of_what_is_compiled_in(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        texts = {
            Path(name).name: archive.read(name).decode()
            for name in archive.namelist()
            if ".dist-info/" in name
        }
    assert re.findall("(?m)^License-File: (.+)$", texts["METADATA"]) == ["LICENSE", "THIRDPARTY.txt"]
    crates = re.findall(r"(?m)^(\S+) [0-9]\S*: \S", texts["THIRDPARTY.txt"])
    assert {"zstd-sys", "rustls", "pyo3"} <= set(crates)
    assert not {"proptest", "sapwood-core"} & set(crates)
    assert "Permission is hereby granted, free of charge" in texts["THIRDPARTY.txt"]


def test_the_source_distribution_has_what_packagers_need_and_no_more(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "maturin", "sdist", "--out", tmp_path]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, timeout=60)
    (built,) = tmp_path.glob("sapwood-*.tar.gz")
    assert built.stat().st_size < 3e6
    with tarfile.open(built) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(tmp_path, filter="data")
    assert {"Cargo.lock", "LICENSE", "README.md", "native/xrdcl/build.sh", "native/xrdcl/shim.cc"} <= names
    assert not [name for name in names if name.endswith((".so", ".parquet"))]
    # All crates are in it, at the locked versions: `cargo` would build the same wheel from it.
    resolve = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    folder = built.with_name(built.name.removesuffix(".tar.gz"))
    subprocess.run(resolve, cwd=folder, check=True, capture_output=True, timeout=60)


def maps_of(client: str) -> str:
    """What makes a program print the file of the XRootD client that it has loaded."""
    return f"; print([line for line in open('/proc/self/maps') if '{client}' in line][0])"


def system_client() -> str | None:
    """The XRootD client of the system, by its library's name."""
    for name in ("libXrdCl.so.6", "libXrdCl.so.3"):
        if any((Path(folder) / name).exists() for folder in ("/usr/lib64", f"/usr/lib/{MULTIARCH}")):
            return name
    return None


@pytest.mark.skipif(xrootd_server.missing() is not None, reason=f"{xrootd_server.missing()}")
@pytest.mark.skipif(system_client() is None, reason="no XRootD client on this system")
def test_without_its_extra_it_reads_root_urls_with_the_system_s_client(bare: Bare, served: Path) -> None:
    client = str(system_client())
    code = OPEN + "print(len(events.arrays('met', library='np')['met']))" + maps_of(client)
    with xrootd_server.data_server(served) as server:
        read = bare.run("python", "-c", code, f"{server.url}//events.root").stdout
    assert read.startswith("1000\n") and "/usr/lib" in read


@pytest.mark.skipif(sys.platform != "linux", reason="only wheels for Linux carry the shims")
@pytest.mark.skipif(system_client() == "libXrdCl.so.6", reason="the system has the newest XRootD client")
def test_without_an_xrootd_client_it_names_the_extra_in_a_line(bare: Bare) -> None:
    (shim,) = bare.folder.glob("venv/lib/python3*/site-packages/sapwood/_xrdcl6.so")
    refused = bare.run(
        "python", "-c", OPEN, "root://127.0.0.1:1//events.root", ok=False, SAPWOOD_XRDCL=str(shim)
    )
    assert refused.returncode != 0
    said = refused.stderr.splitlines()[-1]
    assert "cannot be loaded" in said and "pip install 'sapwood[xrootd]'" in said, refused.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only wheels for Linux carry the shims")
@pytest.mark.skipif(xrootd_server.missing() is not None, reason=f"{xrootd_server.missing()}")
def test_it_reads_root_urls_with_the_client_of_its_extra(equipped: Bare, served: Path) -> None:
    with xrootd_server.data_server(served) as server:
        url = f"{server.url}//events.root"
        assert equipped.run("python", "-c", READ, url).stdout.split() == ["1000"]
        loaded = equipped.run("python", "-c", READ + maps_of("libXrdCl.so"), url).stdout
        assert "site-packages/pyxrootd/libXrdCl.so.6" in loaded


@pytest.mark.skipif(nginx_server.missing() is not None, reason=f"{nginx_server.missing()}")
@pytest.mark.skipif(certificate.missing() is not None, reason=f"{certificate.missing()}")
def test_it_reads_https(equipped: Bare, served: Path, tmp_path: Path) -> None:
    made = certificate.make(tmp_path)
    with nginx_server.web_server(served, tls=made) as server:
        read = equipped.run(
            "python", "-c", READ, f"{server.url}/events.root", SSL_CERT_FILE=str(made.authority)
        )
    assert read.stdout.split() == ["1000"]


@pytest.mark.skipif(s3_server.missing() is not None, reason=f"{s3_server.missing()}")
def test_it_reads_s3(equipped: Bare, served: Path) -> None:
    with s3_server.s3_server() as server:
        server.put("events.root", (served / "events.root").read_bytes())
        read = equipped.run("python", "-c", READ, "s3://data/events.root", **server.variables)
    assert read.stdout.split() == ["1000"]


def test_without_extras_it_reads_into_numpy_and_says_in_a_line_what_is_missing(
    bare: Bare, served: Path
) -> None:
    numpy = OPEN + "print(len(events.arrays('met', library='np')['met']))"
    assert bare.run("python", "-c", numpy, served / "events.root").stdout.split() == ["1000"]
    for command in (["sapwood", "ls", "events.root"], ["python", "-m", "sapwood", "ls", "events.root"]):
        refused = bare.run(*command, ok=False)
        assert refused.returncode != 0
        assert refused.stderr.count("\n") == 1 and "pip install 'sapwood[cli]'" in refused.stderr, (
            refused.stderr
        )
