"""Answers on disk, in shards of respondents."""
