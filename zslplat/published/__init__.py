"""The papers' tables and claims as data, with their source."""
