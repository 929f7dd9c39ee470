"""Loaded by the processes of the freeze tests: a worker stops itself inside a flush while a file asks for it."""

import os
import signal
from pathlib import Path

ASKED = os.environ.get("NEPHILA_TEST_FREEZE", "")

if ASKED:
    from nephila.frontier.sqlite.frontier import SqliteFrontier

    flush = SqliteFrontier._flush

    def freezing(self: SqliteFrontier, *values: object) -> object:
        """In the transaction, with every lock of a writer. Only one worker freezes: it takes the file away."""
        answer = flush(self, *values)  # type: ignore[arg-type]
        if Path(ASKED).exists():
            Path(ASKED).unlink()
            os.kill(os.getpid(), signal.SIGSTOP)
        return answer

    SqliteFrontier._flush = freezing  # type: ignore[assignment,method-assign]
