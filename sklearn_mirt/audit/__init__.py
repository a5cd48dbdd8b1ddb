"""What each benchmark measures: tables, findings, report."""
