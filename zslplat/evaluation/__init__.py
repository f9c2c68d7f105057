"""One evaluation: what is evaluated, its problems, and the processes that carry it out."""
