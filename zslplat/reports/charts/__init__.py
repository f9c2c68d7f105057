"""Charts as SVG: text stays text, colours are variables of the page, so that light, dark and paper each have theirs."""
