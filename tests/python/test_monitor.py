"""The collector behind `sapwood monitor`: packets of all kinds, retention, and the page."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from web_page import ask

from sapwood.monitoring.collector import MalformedPacket, Packet, Receiver, Store, WebPage, parse

PACKET: dict[str, Any] = {
    "site_name": "T2_X",
    "user_dn": "not reported",
    "client_host": "node1",
    "client_domain": "batch.example",
    "server_host": "xrd",
    "server_domain": "a.example",
    "unique_id": "A-1",
    "file_lfn": "/store/x.root",
    "file_size": 1000,
    "read_bytes": 500,
    "read_bytes_at_close": 500,
    "read_single_operations": 2,
    "read_single_bytes": 100,
    "read_vector_operations": 1,
    "read_vector_bytes": 400,
    "start_time": 100,
    "end_time": 104,
}
"""As CMSSW sends it."""


def datagram(**changes: Any) -> bytes:
    return json.dumps({**PACKET, **changes}).encode()


def packet(**changes: Any) -> Packet:
    return parse(datagram(**changes))


class TestParse:
    def test_packets_of_cmssw(self) -> None:
        found = parse(datagram())
        assert found == Packet(
            "T2_X", "xrd.a.example", "node1.batch.example", "/store/x.root", 500, 3, 4.0, 0, False, ""
        )

    def test_additional_fields_of_packets(self) -> None:
        found = packet(
            server_port=1094,
            read_seconds=0.5,
            read_errors=2,
            fallback=True,
            app="sapwood/1",
            server_domain="unknown",
        )
        assert (found.server, found.seconds, found.errors) == ("xrd:1094", 0.5, 2)
        assert found.fallback and found.app == "sapwood/1"

    @pytest.mark.parametrize(
        "wrong",
        [
            b"",
            b"\xff\xfe\x00",
            b"[]",
            b"1",
            b"{}",
            b"[" * 15000,
            b"{" + b" " * (1 << 15),
            b'{"read_bytes": 1' + b"0" * 5000 + b', "server_host": "x"}',
            datagram(read_bytes=-1),
            datagram(read_bytes=float("nan")),
            datagram(read_bytes=float("inf")),
            datagram(read_bytes=2**60),
            datagram(read_bytes=True),
            datagram(read_bytes=None),
            datagram(read_bytes="5"),
            datagram(server_host=["x"]),
            datagram(file_lfn={"a": 1}),
        ],
    )
    def test_malformed_packets(self, wrong: bytes) -> None:
        with pytest.raises(MalformedPacket):
            parse(wrong)

    def test_texts_are_short_and_printable(self) -> None:
        found = packet(file_lfn="a\n\x1b[2J" + 1000 * "x")
        assert len(found.file) == 300 and found.file.isprintable()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "m.sqlite", days=1.0, rows=100)
    yield store
    store.close()


class TestStore:
    def test_sums(self, store: Store) -> None:
        now = time.time()
        fast, slow = packet(read_seconds=1), packet(server_host="slow", read_seconds=100, read_errors=3)
        store.add([(now - 500, packet(site_name="old")), (now, fast), (now, fast), (now, slow)])
        found = store.summary(100)
        total = found["total"]
        assert (total["packets"], total["nbytes"], total["errors"], total["files"]) == (3, 1500, 3, 1)
        assert [one["name"] for one in found["slowest"]] == ["slow.a.example", "xrd.a.example"]
        assert [one["nbytes"] for one in found["servers"]] == [1000, 500]
        assert [one["name"] for one in found["sites"]] == ["T2_X"]
        assert sum(found["rates"]) * 100 / 60 == pytest.approx(1500)
        assert sum(found["errors"]) == 3
        assert found["latest"][0]["server"] == "slow.a.example"
        assert store.summary(1000)["total"]["packets"] == 4

    def test_nothing_is_summed_up_to_nothing(self, store: Store) -> None:
        found = store.summary(100)
        assert found["total"]["nbytes"] == 0 and found["servers"] == [] and len(found["rates"]) == 60

    def test_it_grows_neither_old_nor_large(self, store: Store) -> None:
        now = time.time()
        store.add([(now - 2 * 86400, packet(site_name="old"))] * 50)
        store.add([(now, packet(read_bytes=number)) for number in range(350)])
        assert len(store) == 100
        assert min(one["nbytes"] for one in store.summary(100)["latest"]) >= 250

    def test_it_is_kept(self, tmp_path: Path, store: Store) -> None:
        store.add([(time.time(), packet())])
        again = Store(tmp_path / "m.sqlite")
        assert len(again) == 1
        again.close()


def until(what: Callable[[], bool]) -> None:
    """Waits for what should happen soon."""
    deadline = time.monotonic() + 20
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class TestService:
    @pytest.fixture
    def receiver(self, tmp_path: Path) -> Iterator[Receiver]:
        receiver = Receiver("127.0.0.1", 0, tmp_path / "m.sqlite")
        yield receiver
        receiver.close()

    @pytest.fixture
    def page(self, tmp_path: Path, receiver: Receiver) -> Iterator[WebPage]:
        page = WebPage("127.0.0.1", 0, tmp_path / "m.sqlite", receiver.counts)
        yield page
        page.close()

    def test_packets_are_kept_and_malformed_ones_counted(self, receiver: Receiver, page: WebPage) -> None:
        hostile = "<script>alert(1)</script>"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for one in (b"", b"\0", datagram(), b"[" * 9000, datagram(site_name=hostile), bytes(60_000)):
                sender.sendto(one, receiver.address)
        figures: dict[str, Any] = {}

        def all_came() -> bool:
            figures.update(json.loads(ask(page.address, "/data.json?seconds=600")[2]))
            return bool(figures["total"]["packets"] == 2 and figures["counts"]["received"] == 6)

        until(all_came)
        assert figures["counts"]["malformed"] == 4
        assert {one["name"] for one in figures["sites"]} == {"T2_X", hostile}

    def test_the_page_stands_alone_and_runs_nothing_else(self, page: WebPage) -> None:
        status, headers, text = ask(page.address, "/")
        assert status == 200 and headers["Content-Type"].startswith("text/html")
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        nonce = policy.split("'nonce-")[1].split("'")[0]
        assert text.count(f'nonce="{nonce}"') == 2 and "NONCE" not in text
        assert ask(page.address, "/")[2] != text
        # Nothing of another place, and texts are set as text only.
        assert "https://" not in text and text.count("http://") == 1 and "http://www.w3.org/2000/svg" in text
        assert "innerHTML" not in text and "insertAdjacentHTML" not in text

    def test_other_questions(self, page: WebPage) -> None:
        assert ask(page.address, "/../../etc/passwd")[0] == 404
        assert ask(page.address, "/", Host="evil.example:80")[0] == 403
        assert ask(page.address, "/", Host=f"localhost:{page.address[1]}")[0] == 200
        for wrong in ("x", "nan", "inf", "-5", "1e400"):
            answer = json.loads(ask(page.address, f"/data.json?seconds={wrong}")[2])
            assert 60 <= answer["seconds"] <= 366 * 86400


def test_the_command(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    # Jobs in the background of a shell, such as a whole test run may be, are started with Ctrl-C ignored.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heard}; from sapwood.cli.main import main; main()"
    places = [
        "--listen",
        "127.0.0.1:0",
        "--web",
        "127.0.0.1:0",
        "--database",
        str(tmp_path / "sub" / "m.sqlite"),
    ]
    command = [sys.executable, "-c", code, "monitor", *places]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            packets, page = (running.stdout.readline().split()[1] for _ in range(2))
            host, port = packets.removeprefix("udp://").split(":")
            address = page.split("/")[2].split(":")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.sendto(datagram(), (host, int(port)))

            def came() -> bool:
                figures = json.loads(ask((address[0], int(address[1])), "/data.json")[2])
                return bool(figures["total"]["packets"])

            until(came)
            running.send_signal(signal.SIGINT)
            assert running.wait(20) == 0
        finally:
            running.kill()
