"""The Sphinx extension of the site: pages of what is registered, formulas, and the stores of tutorials."""
