"""The archive in which the standard zero-shot data sets are published: download, unpack, keep its digest."""
