"""Synthesised classifiers: those of unseen classes are combined from classifiers of phantom classes.

Where things are:

| what                                                             | file                  |
|------------------------------------------------------------------|-----------------------|
| squared hinge, each class against the others: truncated Newton   | ``squared_hinge``     |
| Crammer-Singer and structured hinge: dual coordinate ascent      | ``multiclass_hinge``  |
| similarities to phantoms, and the three methods                  | ``methods``           |
"""
