"""CMS EDM files: products by label, run/lumi/event numbers, luminosity masks, provenance.

>>> from sapwood import edm
>>> with edm.open("miniaod.root") as events:          # doctest: +SKIP
...     muons = events.product("slimmedMuons").arrays(["pt_", "eta_"])
"""

from __future__ import annotations

from .events import Events, open
from .lumis import LumiIndexWarning, LumiMask, lumi_ranges
from .metadata import ProductInfo, parameter_sets, processes, products
from .names import ProductName
from .processes import ProcessInfo
from .product import Product

__all__ = [
    "Events",
    "LumiIndexWarning",
    "LumiMask",
    "ProcessInfo",
    "Product",
    "ProductInfo",
    "ProductName",
    "lumi_ranges",
    "open",
    "parameter_sets",
    "processes",
    "products",
]
