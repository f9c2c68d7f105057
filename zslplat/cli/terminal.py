"""The console of all commands, see :mod:`zslplat.front.terminal`."""

from zslplat.front.terminal import Console as Console
