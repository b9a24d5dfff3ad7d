"""Settings of matplotlib for the figures in the documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

plt.switch_backend("svg")
# Keep text as text, and make files reproducible.
plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "sapwood", "font.size": 9})


def style(axes: Any) -> None:
    """A light grid, and no frame at the top and the right."""
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def save(figure: Any, path: Path) -> None:
    """Writes a figure without a date, and closes it."""
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
