"""Nephila: a web crawler that never forgets a URL, never hurries a host, and can always say why."""

__version__ = "0.1.0"
