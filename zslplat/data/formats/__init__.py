"""Formats: files of features, labels and signatures as data sets, one module for each."""
