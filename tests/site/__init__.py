"""Our own test web: a server, fixed and generated sites with their expected result, and the politeness oracle."""
