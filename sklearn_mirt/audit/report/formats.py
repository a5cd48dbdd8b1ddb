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
    if value is None or not math.isfinite(value):
        return _NONE
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-")
    return text.replace("-", _MINUS)


def share(value, digits=0):
    """Return a share as a percentage."""
    if value is None or not math.isfinite(value):
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
    if value is None or not math.isfinite(value):
        return _NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def colour(r):
    """Return CSS background and text colour of a correlation."""
    if r is None or not math.isfinite(r):
        return "background:#ddd;color:#000"
    end = _POSITIVE if r > 0 else _NEGATIVE
    weight = min(abs(r), 1.0)
    mixed = [
        round((1 - weight) * m + weight * e) for m, e in zip(_MIDDLE, end, strict=True)
    ]
    dark = _luminance(mixed) < 0.18  # from here on white text has more contrast
    return f"background:rgb({mixed[0]},{mixed[1]},{mixed[2]});color:" + (
        "#fff" if dark else "#000"
    )


def _luminance(rgb):
    """Relative luminance (WCAG 2.2)."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (v / 255 for v in rgb)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


FILTERS = {
    "number": number,
    "share": share,
    "whole": whole,
    "interval": interval,
    "p_value": p_value,
    "colour": colour,
    "stars": significance_stars,
}
