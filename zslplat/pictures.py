"""A figure of matplotlib that shows itself in a notebook, and in pages made of scripts, without a window or pyplot."""

from __future__ import annotations

import base64
import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A :class:`matplotlib.figure.Figure` with a representation for notebooks."""

    def _repr_html_(self) -> str:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=2 * self.get_dpi(), metadata={"Software": None})
        width, _ = self.get_size_inches() * self.get_dpi()
        content = base64.b64encode(buffer.getvalue()).decode("ascii")
        return f'<img alt="figure" style="max-width:100%; width:{width:.0f}px" src="data:image/png;base64,{content}">'
