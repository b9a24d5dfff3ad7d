"""A real S3 server for tests and benchmarks on a free local port: versitygw for a folder.

    python scripts/s3_server.py --put FILE [--put FILE …]    serves the files in the bucket "data"

Prints one line of JSON when it is ready, {"endpoint": "http://127.0.0.1:PORT", "access_key_id": …,
"secret_access_key": …, "bucket": "data"}, and serves until its standard input ends. scripts/s3.sh installs
versitygw.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from local_server import free_port, is_ready, parser, serve

READY_SECONDS = 60.0
REGION = "us-east-1"
REPOSITORY = Path(__file__).resolve().parents[1]


def program(name: str = "versitygw") -> str | None:
    """A server's program, or None."""
    local = REPOSITORY / ".venv" / "bin" / name
    named = os.environ.get(f"{name.upper().replace('-', '_')}_BIN")
    return named or (str(local) if local.exists() else shutil.which(name))


def missing(name: str = "versitygw") -> str | None:
    """The missing software, or None."""
    return None if program(name) else f"{name} is not installed (make servers builds it, where possible)"


@dataclass
class Server:
    """A running S3 server with the bucket ``data``."""

    port: int
    process: subprocess.Popen[bytes] | None = None
    command: tuple[str, ...] = field(default=(), repr=False)
    health: str = "/health"
    healthy: int = 200
    access_key_id: str = "testaccess"
    secret_access_key: str = "testtesttesttest"
    bucket: str = "data"

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> str:
        """The URL of the service."""
        return f"http://{self.address}"

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a client."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_REGION": REGION,
        }

    def put(self, key: str, content: bytes) -> None:
        """Writes an object with a checksum, like other S3 clients."""
        checksum = base64.b64encode(zlib.crc32(content).to_bytes(4, "big")).decode()
        self._ask("PUT", f"/{self.bucket}/{quote(key)}", content, headers={"x-amz-checksum-crc32": checksum})

    def start(self) -> None:
        """Starts the process, and waits until it answers. It can be started again after it was killed."""

        def ready() -> bool:
            # The process exits at once if the port is still in use after a kill.
            if not self.runs:
                quiet = subprocess.DEVNULL
                self.process = subprocess.Popen(self.command, stdin=quiet, stdout=quiet, stderr=quiet)
            return answers(self, self.health, self.healthy)

        if not is_ready(ready, READY_SECONDS):
            raise RuntimeError(f"the S3 server on port {self.port} does not start")

    def kill(self) -> None:
        """Kills the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        """Ends the server. It is killed, because otherwise it would wait for idle connections of clients."""
        self.kill()

    @property
    def runs(self) -> bool:
        """Whether the process is running."""
        return self.process is not None and self.process.poll() is None

    def make_bucket(self, name: str | None = None, placement: str = "") -> None:
        """Makes the bucket, or another one; for Ceph, with the placement of its objects."""
        space = "http://s3.amazonaws.com/doc/2006-03-01/"
        where = f"<LocationConstraint>{placement}</LocationConstraint>"
        body = f'<CreateBucketConfiguration xmlns="{space}">{where}</CreateBucketConfiguration>'
        self._ask("PUT", f"/{name or self.bucket}", body.encode() if placement else b"")

    def make_public(self) -> None:
        """Makes all objects public."""
        statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}
        statement["Resource"] = f"arn:aws:s3:::{self.bucket}/*"
        policy = {"Version": "2012-10-17", "Statement": [statement]}
        self._ask("PUT", f"/{self.bucket}", json.dumps(policy).encode(), "policy=")

    def listed(self, prefix: str) -> dict[str, tuple[int, str]]:
        """Sizes and entity tags of all objects with a prefix, by key."""
        found: dict[str, tuple[int, str]] = {}
        last = ""
        while True:
            query = f"list-type=2&prefix={quote(prefix, safe='')}&start-after={quote(last, safe='')}"
            page = ElementTree.fromstring(self._ask("GET", f"/{self.bucket}", b"", query))
            space = page.tag.removesuffix("ListBucketResult")
            for each in page.iter(f"{space}Contents"):
                last, size, tag = (each.findtext(f"{space}{name}") or "" for name in ("Key", "Size", "ETag"))
                found[last] = (int(size), tag)
            if page.findtext(f"{space}IsTruncated") != "true":
                return found

    def _ask(
        self, method: str, path: str, body: bytes, query: str = "", headers: Mapping[str, str] | None = None
    ) -> bytes:
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            signed = _signature(self, method, path, query, body, headers or {})
            connection.request(method, f"{path}?{query}" if query else path, body, signed)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status not in (200, 204):
                raise RuntimeError(f"{method} {path}: {answer.status} {text[:500]!r}")
            return text
        finally:
            connection.close()


def _signature(
    server: Server, method: str, path: str, query: str, body: bytes, further: Mapping[str, str]
) -> dict[str, str]:
    """The headers that sign a request (AWS Signature Version 4)."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    headers = {"x-amz-date": now, "x-amz-content-sha256": digest, **further}
    signed = sorted({"host": server.address, **headers}.items())
    names = ";".join(name for name, _ in signed)
    lines = "".join(f"{name}:{value}\n" for name, value in signed)
    request = "\n".join([method, path, query, lines, names, digest])
    scope = f"{now[:8]}/{REGION}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{server.secret_access_key}".encode()
    for part in (now[:8], REGION, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"Credential={server.access_key_id}/{scope}"
    return {
        **headers,
        "Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, Signature={signature}",
    }


@contextmanager
def s3_server(files: Path | None = None) -> Iterator[Server]:
    """A server with an empty bucket; or one inside a folder, with hard links to its `.root` files."""
    with tempfile.TemporaryDirectory(prefix="sapwood-s3-", dir=files) as name:
        for folder in ("data", "meta"):
            Path(name, folder).mkdir()
        server = _gateway(Path(name))
        try:
            server.start()
            server.make_bucket()
            for file in files.glob("*.root") if files else ():
                Path(name, "data", server.bucket, file.name).hardlink_to(file)
            yield server
        finally:
            server.stop()


@contextmanager
def another_gateway(server: Server) -> Iterator[Server]:
    """A second server for the same objects."""
    other = _gateway(Path(server.command[-1]).parent)
    try:
        other.start()
        yield other
    finally:
        other.stop()


@contextmanager
def careless_server() -> Iterator[Server]:
    """s3s-fs with an empty bucket. It checks for an existing object before it writes: a race condition."""
    with tempfile.TemporaryDirectory(prefix="sapwood-s3-") as folder:
        # Anonymous clients may not list buckets.
        server = Server(free_port(), health="/", healthy=403)
        keys = ["--access-key", server.access_key_id, "--secret-key", server.secret_access_key]
        place = ["--host", "127.0.0.1", "--port", str(server.port)]
        server.command = (_installed("s3s-fs"), *place, *keys, folder)
        try:
            server.start()
            server.make_bucket()
            yield server
        finally:
            server.stop()


def _installed(name: str) -> str:
    binary = program(name)
    if binary is None:
        raise RuntimeError(missing(name))
    return binary


def _gateway(folder: Path) -> Server:
    binary = _installed("versitygw")
    server = Server(free_port())
    # Metadata is stored in files, because not every file system has extended attributes.
    backend = ["posix", "--sidecar", str(folder / "meta")]
    # By default it allocates 1 MiB for every request, which takes it longer than reading some kilobytes.
    backend += ["--io-buffer-size", str(64 << 10), str(folder / "data")]
    options = ["--access", server.access_key_id, "--secret", server.secret_access_key, "--region", REGION]
    options.append("--keep-alive")  # by default it closes connections, unlike any S3 service
    server.command = (
        binary,
        *options,
        "--port",
        server.address,
        "--health",
        server.health,
        "--quiet",
        *backend,
    )
    return server


def answers(server: Server, path: str, status: int = 200) -> bool:
    """Whether the server answers with this status."""
    connection = http.client.HTTPConnection(server.address, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == status
    except OSError:
        return False
    finally:
        connection.close()


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--put", type=Path, action="append", default=[], help="file to serve")
    files = arguments.parse_args().put
    if (lack := missing()) is not None:
        raise SystemExit(f"s3_server: {lack}")
    with s3_server() as server:
        for file in files:
            server.put(file.name, file.read_bytes())
        keys = {"access_key_id": server.access_key_id, "secret_access_key": server.secret_access_key}
        serve({"endpoint": server.endpoint, **keys, "bucket": server.bucket})


if __name__ == "__main__":
    main()
