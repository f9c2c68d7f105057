"""What a method may know beforehand, and where it comes from, in the words of records and tables.

Readers of records need these words, and no method.
"""

from __future__ import annotations

# What a method may know of a batch, in the order in which it is shown (``Method.knows_of_batch``).
TRANSDUCTIVE = "transductive"
CLASS_BALANCE = "class balance"
UNSEEN_SIGNATURES = "unseen signatures"
KNOWN = (TRANSDUCTIVE, CLASS_BALANCE, UNSEEN_SIGNATURES)

# The tag of a method that was written down without its source at hand; tables mark it.
FROM_MEMORY = "from memory"
