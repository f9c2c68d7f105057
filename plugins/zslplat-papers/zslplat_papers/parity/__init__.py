"""The equations of the papers beside the methods: slow references, which the tests and ``zslplat parity`` share."""
