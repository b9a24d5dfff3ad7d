"""Exports records as OpenTelemetry spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..display.units import counted
from ..report.sources import SourceUse, as_json
from ._exporter import Exporter
from ._record import FileRecord

if TYPE_CHECKING:
    from opentelemetry.context import Context


class Spans(Exporter):
    """Creates a span for each file that is closed, with a child span for each of its servers."""

    def __init__(self) -> None:
        try:
            from opentelemetry import context, trace
        except ImportError:
            raise ImportError(
                "OpenTelemetry spans require the package opentelemetry-api: pip install opentelemetry-api"
            ) from None
        self._context, self._trace = context, trace

    def opened(self) -> Context:
        return self._context.get_current()

    def tell(self, record: FileRecord) -> None:
        if not record.closed:
            return
        tracer = self._trace.get_tracer("sapwood")
        start, end = _nanoseconds(record.start), _nanoseconds(record.end)
        figures = {f"sapwood.{name}": value for name, value in record.figures.items()}
        attributes: dict[str, Any] = {"file.path": record.file, "file.size": record.size, **figures}
        span = tracer.start_span("sapwood.file", record.context, attributes=attributes, start_time=start)
        below = self._trace.set_span_in_context(span, record.context)
        for event in record.log:
            details: dict[str, Any] = {"server": event.server or "", "text": event.text, "times": event.times}
            span.add_event(event.event, details, timestamp=start + int(event.seconds * 1e9))
        for use in record.sources:
            source = tracer.start_span("sapwood.source", below, attributes=_attributes(use), start_time=start)
            if use.failures:
                source.set_status(self._trace.StatusCode.ERROR, counted(use.failures, "failure"))
            source.end(end)
        span.end(end)

    def __str__(self) -> str:
        return "opentelemetry"


def _attributes(use: SourceUse) -> dict[str, Any]:
    host, _, port = use.server.rpartition(":")
    place: dict[str, Any] = {"server.address": host or use.server}
    if port.isdigit():
        place["server.port"] = int(port)
    figures = {f"sapwood.{name}": value for name, value in as_json(use).items() if name != "events"}
    return {**place, **figures, **{f"sapwood.events.{name}": count for name, count in use.events.items()}}


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
