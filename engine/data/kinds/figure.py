"""Figures that steps draw, and images."""

from __future__ import annotations

from engine.data.kind import Kind
from engine.domain.datatypes import DataType


def write_figure(value, stem):
    """Write a figure as PNG with SVG beside it; return the name of the PNG."""
    import os

    import matplotlib
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.text import Text
    from matplotlib.ticker import LogFormatter

    name = f"{stem}.png"
    # A dollar in a name begins no formula; only the powers of ten that a log axis writes are one.
    powers = {
        label
        for axes in value.axes for axis in (axes.xaxis, axes.yaxis)
        for ticks, how in ((axis.get_major_ticks(), axis.get_major_formatter()),
                           (axis.get_minor_ticks(), axis.get_minor_formatter()))
        if isinstance(how, LogFormatter) for tick in ticks for label in (tick.label1, tick.label2)
    }  # fmt: skip
    for text in value.findobj(Text):
        text.set_parse_math(text in powers)
    value.savefig(name, dpi=150, bbox_inches="tight")
    # Beside it what an editor of drawings opens; thousands of marks are a picture in it, for its size.
    for marks in value.findobj(Collection):
        if max(len(marks.get_offsets()), len(marks.get_paths())) > 2000:
            marks.set_rasterized(True)
    for line in value.findobj(Line2D):
        if line.get_marker() not in ("", "None", None) and len(line.get_xdata(orig=False)) > 2000:
            line.set_rasterized(True)
    value.set_layout_engine("none")  # what was placed for the first stays, which takes no time
    box = value.get_tightbbox().padded(0.1)
    with matplotlib.rc_context({"svg.hashsalt": "biodesk"}):
        value.savefig(f"{stem}.svg", dpi=150, bbox_inches=box, metadata={"Date": None})
    if os.path.getsize(f"{stem}.svg") > 8_000_000:
        os.remove(f"{stem}.svg")
    import matplotlib.pyplot as plt

    plt.close(value)
    return name


FIGURE = Kind(type=DataType.FIGURE, edam="data_2884", write=write_figure)
IMAGE = Kind(type=DataType.IMAGE, edam="data_2968", aliases=("image", "tiff", "png", "jpg", "ome"))
