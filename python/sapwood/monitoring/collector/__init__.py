"""The collector behind ``sapwood monitor``: takes packets by UDP, keeps them, shows them in the browser."""

from .packets import MalformedPacket, Packet, parse
from .receiver import Receiver
from .store import Store
from .web import WebPage

__all__ = ["MalformedPacket", "Packet", "Receiver", "Store", "WebPage", "parse"]
