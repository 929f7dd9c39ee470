"""What a sitemap of a million URLs costs: an index of 20 files of 50,000 URLs, read by a real crawl.

    python -m bench.sitemaps [--files 20]

The pages lie on a host that is asked once in a while, so that the figures are those of the sitemaps. Peak memory of the
worker and of its helper (VmHWM), against those of the same crawl with one sitemap of ten URLs; CPU of the reading of
one file beside.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.site.server import TestWeb
from tests.site.sitemaps import index, urlset

from nephila import wiring
from nephila.errors import NephilaError
from nephila.extract.sitemap import URLS_MAX, SitemapFile
from nephila.models import Tally
from nephila.settings import process_settings

LISTING, PAGES = "127.0.0.1", "127.0.0.2"
STAMPS = "<lastmod>2026-05-01T12:00:00+00:00</lastmod><changefreq>weekly</changefreq><priority>0.5</priority>"
SECONDS_MAX = 900.0


def urls_of(file: int, count: int, port: int) -> list[str]:
    return [f"http://{PAGES}:{port}/catalogue/{file:03}/an-article-with-a-name-{n:05}.html" for n in range(count)]


def processes_of(pid: int) -> Iterator[int]:
    """The process and all below it."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = task.read_text().split()
        except OSError:
            continue
        for child in found:
            yield from processes_of(int(child))


def peaks(pid: int, known: dict[str, int]) -> None:
    """The greatest memory of each sort of process so far, in bytes."""
    for each in processes_of(pid):
        try:
            command = Path(f"/proc/{each}/cmdline").read_text().replace("\0", " ")
            status = Path(f"/proc/{each}/status").read_text()
        except OSError:
            continue
        name = "helper" if "parse_worker" in command else "command" if each == pid else "worker"
        lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        if lines:
            known[name] = max(known.get(name, 0), int(lines[0].split()[1]) * 1024)


def crawl(folder: Path, files: int, count: int) -> tuple[dict[str, int], float]:
    """Crawl until everything that the files list is there; the peaks, and how long that took."""
    with TestWeb() as web:
        base = f"http://{LISTING}:{web.port}"
        site = {f"/{n}.xml": urlset(urls_of(n, count, web.port), STAMPS) for n in range(files)}
        site["/index.xml"] = index(f"{base}{path}" for path in list(site))
        web.add({LISTING: site, PAGES: {}})
        command = [sys.executable, "-m", "nephila", "crawl", "--data", str(folder), "--allow-private", "--quiet"]
        command += ["--sitemap", f"{base}/index.xml", "--scope", "list", "--scope-host", LISTING, "--scope-host", PAGES]
        command += ["--set", "polite.floor_ms=1000", "--log-level", "error"]
        began, found = time.monotonic(), dict[str, int]()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while _known(folder) < files * count:
                assert process.poll() is None, "the crawl ended early"
                assert time.monotonic() - began < SECONDS_MAX, f"{_known(folder):,} URLs in {SECONDS_MAX:g} s"
                peaks(process.pid, found)
                time.sleep(0.2)
            peaks(process.pid, found)
            return found, time.monotonic() - began
        finally:
            process.terminate()
            process.wait()


def _known(folder: Path) -> int:
    """URLs of the crawl so far; 0 also while its store is being made."""
    with suppress(NephilaError):
        catalog = wiring.open_store(process_settings({"data": folder})).catalog
        crawls = catalog.crawls()
        return catalog.tallies(crawls[0].id).get(Tally.URLS, 0) if crawls else 0
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20)
    files = parser.parse_args().files
    body = urlset(urls_of(0, URLS_MAX, 8080), STAMPS).body
    began = time.process_time()
    entries = sum(map(len, SitemapFile(body)))
    print(f"reading: {entries:,} URLs of {len(body) / 1e6:.1f} MB in {time.process_time() - began:.2f} s of CPU")
    with tempfile.TemporaryDirectory() as folder:
        small, _ = crawl(Path(folder) / "small", 1, 10)
        large, seconds = crawl(Path(folder) / "large", files, URLS_MAX)
    print(f"{files * URLS_MAX:,} URLs in {seconds:.0f} s")
    for name in sorted(large):
        more = large[name] - small.get(name, 0)
        print(f"{name}: {large[name] / 1e6:.0f} MB at its peak, {more / 1e6:.0f} MB more than with ten URLs")


if __name__ == "__main__":
    main()
