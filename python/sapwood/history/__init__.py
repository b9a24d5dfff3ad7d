"""Logs and versions of datasets; logs are in the dataset's store or in a database."""
