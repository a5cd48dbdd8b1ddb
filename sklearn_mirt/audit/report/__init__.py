"""The audit report: one HTML file, made from audit tables; nothing is fitted here."""

from sklearn_mirt.audit.report.build import build_report, notebook_html, write_report

__all__ = ["build_report", "notebook_html", "write_report"]
