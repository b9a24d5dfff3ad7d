"""Asks a page on this machine."""

from __future__ import annotations

import http.client


def ask(
    address: tuple[str, int], path: str, method: str = "GET", **headers: str
) -> tuple[int, http.client.HTTPMessage, str]:
    """Status, headers and text of the answer."""
    connection = http.client.HTTPConnection(*address, timeout=20)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()
