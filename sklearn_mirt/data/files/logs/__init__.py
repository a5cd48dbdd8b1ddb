"""Readers of the logs that evaluation programs write: one module per program.

Each module has `recognises(paths)` and `read(paths, options, log)`, which streams the
answers into an :class:`~sklearn_mirt.data.files.logs.answer_log.AnswerLog`.
"""
