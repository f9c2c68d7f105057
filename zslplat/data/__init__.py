"""Data: one frozen :class:`~zslplat.data.dataset.Dataset`, whatever the files look like.

``formats`` reads files, ``sets`` holds the built-in data sets, ``store`` keeps rows on disk and preprocesses them. What
is here puts them together: :mod:`~zslplat.data.catalogue` finds a data set by its name, :mod:`~zslplat.data.assembly`
makes one of arrays.
"""
