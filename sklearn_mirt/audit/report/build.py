"""Puts the contents into the templates and writes the file.

Names of items, benchmarks and respondents come from outside and may be anything. Three
walls keep them text: jinja2 escapes all that it writes, the script only ever sets
textContent, and a content security policy lets no script run but ours (by its hash) and
nothing be loaded.
"""

import base64
import hashlib
import json
from importlib import resources
from pathlib import Path

from sklearn_mirt.audit.report.content import page_context
from sklearn_mirt.audit.report.formats import FILTERS
from sklearn_mirt.audit.report.payload import explorer_payload
from sklearn_mirt.data.files.atomic import replacing

# Parts of the script in the order in which they run.
_SCRIPT = ("common", "scatter", "items", "respondents", "page")


def build_report(audit, *, title=None, texts=None):
    """Return the report of an audit as one HTML document.

    Parameters
    ----------
    audit : BenchmarkAudit
    title : str, default=None
        Heading.
    texts : mapping or Series, default=None
        Text of each item by id; default: the column "text" of `audit.items`.

    Returns
    -------
    html : str
    """
    environment = _environment()
    script = _script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    context = page_context(audit, title=title)
    return environment.get_template("report.html.j2").render(
        **context,
        style=_file("report.css"),
        script=script,
        script_hash=digest,
        data=_embedded(explorer_payload(audit, texts)),
    )


def notebook_html(audit):
    """Return findings and heat map of an audit for a notebook."""
    context = page_context(audit)
    return _environment().get_template("notebook.html.j2").render(**context)


def write_report(audit, path, *, title=None, texts=None):
    """Write the report whole or not at all; return its path."""
    path = Path(path)
    html = build_report(audit, title=title, texts=texts)
    with replacing(path, force=True) as scratch:
        # lone surrogates of damaged names have no UTF-8: written as question marks
        scratch.write_text(html, encoding="utf-8", errors="replace")
    return path


def _environment():
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "The report needs jinja2, which is not installed; pip install "
            "'sklearn-mirt[report]'",
            name="jinja2",
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sklearn_mirt.audit.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    return environment


def _script():
    """Return the one script of the page; its parts share names, and the page none."""
    parts = [_file(f"script/{part}.js") for part in _SCRIPT]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def _file(name):
    folder = resources.files("sklearn_mirt.audit.report") / "templates"
    return (folder / name).read_text(encoding="utf-8")


def _embedded(payload):
    """JSON that cannot end the element it stands in."""
    text = json.dumps(payload, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
