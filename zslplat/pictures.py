"""A figure of matplotlib that shows itself in a notebook, and in pages made of scripts, without a window or pyplot."""

from __future__ import annotations

import base64
import io

from matplotlib.figure import Figure

# Fonts that come with systems, or are installed beside, for letters that matplotlib's own lacks.
MORE_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans SC", "Noto Sans JP", "Noto Sans KR"),
    *("Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "IPAGothic"),
    *("PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Noto Sans Tamil", "Noto Sans Bengali", "Arial Unicode MS"),
)


def with_more_letters(figure: Figure) -> None:
    """Have the texts of a figure drawn with installed fonts where matplotlib's own has no such letter."""
    from matplotlib.font_manager import get_font_names
    from matplotlib.text import Text

    installed = set(get_font_names())
    families = [name for name in MORE_FONTS if name in installed]
    if not families:
        return
    for text in figure.findobj(Text):
        if not text.get_text().isascii():
            family = text.get_fontfamily()
            text.set_fontfamily([*family, *(name for name in families if name not in family)])


class Picture(Figure):
    """A :class:`matplotlib.figure.Figure` with a representation for notebooks."""

    def _repr_html_(self) -> str:
        buffer = io.BytesIO()
        with_more_letters(self)
        self.savefig(buffer, format="png", dpi=2 * self.get_dpi(), metadata={"Software": None})
        width, _ = self.get_size_inches() * self.get_dpi()
        content = base64.b64encode(buffer.getvalue()).decode("ascii")
        return f'<img alt="figure" style="max-width:100%; width:{width:.0f}px" src="data:image/png;base64,{content}">'
