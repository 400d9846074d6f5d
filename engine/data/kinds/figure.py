"""Figures that steps draw, and images."""

from __future__ import annotations

from engine.data.kind import Kind
from engine.domain.datatypes import DataType


def write_figure(value, stem):
    """Write a figure as PNG with SVG beside it; return the name of the PNG."""
    import os

    import matplotlib
    import numpy as np
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.text import Text
    from matplotlib.ticker import LogFormatter

    name = f"{stem}.png"
    # A dollar in a name begins no formula; only the powers of ten that a log axis writes are one.
    powers = {
        label
        for axes in value.axes for axis in (axes.xaxis, axes.yaxis)
        for ticks, how in ((axis.get_major_ticks, axis.get_major_formatter()),
                           (axis.get_minor_ticks, axis.get_minor_formatter()))
        if isinstance(how, LogFormatter) for tick in ticks() for label in (tick.label1, tick.label2)
    }  # fmt: skip
    for part in value.findobj():
        marks = 0
        if isinstance(part, Text):
            part.set_parse_math(part in powers)
        elif isinstance(part, Collection):
            marks = max(np.shape(part.get_offsets())[0], len(part.get_paths()))
        elif isinstance(part, Line2D) and part.get_marker() not in ("", "None", None):
            marks = np.size(part.get_xdata(orig=False))
        if marks > 2000:  # in what an editor of drawings opens they are a picture, for its size
            part.set_rasterized(True)
    # Everything is placed once, for both files: that takes as long as to draw it.
    value.set_dpi(150)
    value.draw_without_rendering()
    value.set_layout_engine(None)
    box = value.get_tightbbox().padded(0.1)
    value.savefig(name, dpi=150, bbox_inches=box)
    with matplotlib.rc_context({"svg.hashsalt": "biodesk"}):
        value.savefig(f"{stem}.svg", dpi=150, bbox_inches=box, metadata={"Date": None})
    if os.path.getsize(f"{stem}.svg") > 8_000_000:
        os.remove(f"{stem}.svg")
    import matplotlib.pyplot as plt

    plt.close(value)
    return name


FIGURE = Kind(type=DataType.FIGURE, edam="data_2884", write=write_figure)
IMAGE = Kind(type=DataType.IMAGE, edam="data_2968", aliases=("image", "tiff", "png", "jpg", "ome"))
