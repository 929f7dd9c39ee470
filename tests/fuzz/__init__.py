"""Fuzzing: readers of foreign bytes meet anything. `make test` draws a few hundred inputs of each, `make soak` draws by
coverage for as long as one likes (atheris)."""
