"""The collector behind ``sapwood monitor``: receives UDP packets, stores them, and shows a web page."""

from .packets import MalformedPacket, Packet, parse
from .receiver import Receiver
from .store import Store
from .web import WebPage

__all__ = ["MalformedPacket", "Packet", "Receiver", "Store", "WebPage", "parse"]
