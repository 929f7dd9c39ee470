from pathlib import Path

import pytest

from nephila.archive.folder import FolderArchive
from nephila.clock import VirtualClock
from nephila.models import ArchiveFormat


@pytest.fixture(params=ArchiveFormat)
def archive(request: pytest.FixtureRequest, tmp_path: Path, clock: VirtualClock) -> FolderArchive:
    return FolderArchive(tmp_path, clock, format=request.param)
