"""The documentation site: pages made of what is registered, a Sphinx extension that writes them, and the built copy."""
