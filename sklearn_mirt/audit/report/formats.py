"""Numbers as the report writes them."""

import math

from sklearn_mirt.plots import significance_stars

_MINUS = "\N{MINUS SIGN}"
_NONE = "\N{EN DASH}"
# Ends and middle of a blue and red scale that is told apart with any colour vision
# (ColorBrewer RdBu); in between, linear.
_NEGATIVE, _MIDDLE, _POSITIVE = (178, 24, 43), (247, 247, 247), (33, 102, 172)


def number(value, digits=2):
    """Return a number with a real minus sign; a dash where there is none."""
    if not math.isfinite(value):
        return _NONE
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-")
    return text.replace("-", _MINUS)


def share(value, digits=0):
    """Return a share as a percentage."""
    if not math.isfinite(value):
        return _NONE
    return f"{value:.{digits}%}"


def whole(value):
    """Return a count with thousands separators."""
    return f"{int(value):,}"


def interval(pair, digits=2):
    """Return [low, high], or nothing where it is not known."""
    low, high = pair
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def p_value(value):
    """Return a p-value in words."""
    if not math.isfinite(value):
        return _NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def colour(r):
    """Return CSS background and text colour of a correlation."""
    if not math.isfinite(r):
        return "background:#ddd;color:#000"
    end = _POSITIVE if r > 0 else _NEGATIVE
    weight = min(abs(r), 1.0)
    ends = zip(_MIDDLE, end, strict=True)
    rgb = [round((1 - weight) * start + weight * stop) for start, stop in ends]
    # below this luminance white text has more contrast
    text = "#fff" if _luminance(rgb) < 0.18 else "#000"
    return f"background:rgb({rgb[0]},{rgb[1]},{rgb[2]});color:{text}"


def _luminance(rgb):
    """Relative luminance (WCAG 2.2)."""
    shares = [value / 255 for value in rgb]
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


FILTERS = {
    "number": number,
    "share": share,
    "whole": whole,
    "interval": interval,
    "p_value": p_value,
    "colour": colour,
    "stars": significance_stars,
}
