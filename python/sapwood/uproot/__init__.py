"""uproot, with trees that sapwood reads: the same names, the same arrays.

>>> import sapwood.uproot as uproot                                      # doctest: +SKIP
>>> uproot.open("nano.root:Events").arrays(["Muon_pt", "MET_pt"])        # doctest: +SKIP

Importing this module makes uproot itself read with sapwood in the whole process. See also
``python -m sapwood.uproot`` and the environment variable ``SAPWOOD_UPROOT``.
"""

from __future__ import annotations

from typing import Any

import uproot as _uproot

from ._switch import switch_off, switch_on

__all__ = ["switch_off", "switch_on"]

switch_on()


def __getattr__(name: str) -> Any:
    return getattr(_uproot, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_uproot)})
