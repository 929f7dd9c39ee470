"""Links both ways: which pages link to a URL, and with which words."""
