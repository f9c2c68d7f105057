"""The equations of the papers beside the methods: slow references, one for tests and for ``zslplat parity``."""
