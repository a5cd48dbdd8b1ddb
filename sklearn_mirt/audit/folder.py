"""Writes the tables and pictures of an audit into one folder, all or nothing."""

import json
import warnings
from pathlib import Path

from sklearn_mirt.data.files.atomic import filling


def write_audit(
    audit, folder: Path, about: dict, *, guard_formulas: bool = False
) -> list[str]:
    """Write the audit and return the names of the files.

    Everything is written beside the folder first and then moved, so that an error half
    way leaves no half an audit. Other files in an existing folder stay.

    Parameters
    ----------
    audit : BenchmarkAudit
    folder : Path
        Made if it is not there.
    about : dict
        What was read and with which settings; written to `about.json`.
    guard_formulas : bool, default=False
        As of `BenchmarkAudit.to_csv`.

    Returns
    -------
    names : list of str
    """
    with filling(folder) as scratch:
        audit.to_csv(scratch, guard_formulas=guard_formulas)
        _write_text(scratch / "findings.txt", "".join(f"{f}\n" for f in audit.findings))
        _write_text(scratch / "about.json", json.dumps(about, indent=2) + "\n")
        _write_pictures(audit, scratch)
        _write_report(audit, scratch)
        return sorted(path.name for path in scratch.iterdir())


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write_pictures(audit, folder: Path) -> None:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        warnings.warn(
            "no pictures: matplotlib is not installed (pip install "
            "'sklearn-mirt[plot]')",
            UserWarning,
            stacklevel=2,
        )
        return
    from sklearn_mirt.plots import BenchmarkHeatmapDisplay, DiscriminationDisplay

    plt.switch_backend("agg")  # to files only: no window, no display needed
    figures = {
        "benchmarks.png": BenchmarkHeatmapDisplay.from_audit(audit).figure_,
        "discrimination.png": DiscriminationDisplay.from_audit(audit).figure_,
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=150, bbox_inches="tight")
        plt.close(figure)


def _write_report(audit, folder: Path) -> None:
    try:
        audit.to_html(folder / "report.html")
    except ModuleNotFoundError as error:
        if error.name != "jinja2":
            raise
        warnings.warn(str(error), UserWarning, stacklevel=2)
