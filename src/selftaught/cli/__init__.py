"""The command line: parse, call, print. The library itself never prints."""

from .app import main as main
