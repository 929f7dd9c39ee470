"""`python -m tests.site.evil FOLDER`: the evil web until it is killed. FOLDER gets the certificates, with `ca.crt`.

The port is the first line of standard output; 127.0.0.1 answers there what was counted.
"""

import asyncio
import sys
from pathlib import Path

from tests.site.evil.web import serve_until_killed

asyncio.run(serve_until_killed(Path(sys.argv[1])))
