"""The kinds of methods that come with the platform: each is registered by an entry point of its own."""
