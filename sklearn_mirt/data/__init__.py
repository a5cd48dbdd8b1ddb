"""Answers of respondents to items: in memory, in files, in shards."""
