"""`TlsSessions`: what libcurl keeps to shorten the next TLS handshake with a host, for thousands of hosts.

One share of libcurl keeps the sessions of 25 hosts and forgets the oldest: with more hosts in turn nothing would ever
be resumed. So hosts are spread over many shares. Early data is off, as libcurl has it by default.

libcurl tells whether a session was resumed to those alone who let it say everything it does (VERBOSE). `presume` says
when that is worth it: where a handshake is likely, and not known to be full. Measured (CPU of the thread, 36 KB, 2 busy
cores, the least of nine): 103 us instead of 93 on an open connection, 1,251 instead of 1,138 on a resumed one.
"""

from typing import Any

import pycurl

from nephila.models import Handshake

SHARES_MAX = 1024  # of some kilobytes each, made when they are needed
ORIGINS_MAX = 50_000  # whose last request is remembered: twice as many as have a session in the shares
LOOK_AFTER_MS = 4_000.0  # since the last request: some servers close a connection that is idle for 5 s
# What libcurl of the wheel says. The certificate comes in a full handshake alone, in every version of TLS; that there
# was a signature would not tell those apart in which RSA encrypts the key.
HELLO = b" (OUT), TLS handshake, Client hello (1)"
CERTIFICATE = b" (IN), TLS handshake, Certificate (11)"
SECURED = b"SSL connection using "
UNSIGNED = b" / UNDEF\n"


class TlsSessions:
    def __init__(self) -> None:
        self._shares: dict[int, Any] = {}
        self._asked: dict[str, float] = {}  # origin -> tick of its last request; the younger half
        self._asked_before: dict[str, float] = {}
        self._forgot = False

    def of(self, origin: str) -> Any:
        """The share of a host."""
        place = hash(origin) % SHARES_MAX
        share = self._shares.get(place)
        if share is None:
            share = self._shares[place] = pycurl.CurlShare()
            share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
        return share

    def presume(self, origin: str, now_tick: float) -> Handshake:
        """What a handshake with this origin would be, should there be one; NONE: somebody has to look.

        The first one is full. Shortly after a request the connection is open, so nobody looks.
        """
        last = self._asked.get(origin, self._asked_before.get(origin))
        self._asked[origin] = now_tick
        if len(self._asked) >= ORIGINS_MAX // 2:
            self._forgot = self._forgot or bool(self._asked_before)
            self._asked_before, self._asked = self._asked, {}
        if last is None:
            return Handshake.NONE if self._forgot else Handshake.FULL
        return Handshake.NONE if now_tick - last > LOOK_AFTER_MS else Handshake.UNKNOWN


class Listener:
    """Hears what libcurl says of handshakes, and nothing else: it also hands over every byte of the answer."""

    __slots__ = ("_certified", "heard")

    def __init__(self) -> None:
        self.heard = Handshake.NONE  # the last one, of whatever request
        self._certified = False

    def hear(self, kind: int, text: bytes) -> None:
        """libcurl's debug callback, called 30 to 70 times. With a proxy that speaks TLS there are two handshakes; the
        last one counts. A function in C (insert of a list) would save some 4 us and keep each byte of the answer."""
        if kind != pycurl.INFOTYPE_TEXT:
            return
        if HELLO in text:
            self.heard, self._certified = Handshake.NONE, False
        elif CERTIFICATE in text:
            self._certified = True
        elif text.startswith(SECURED):
            resumed = text.endswith(UNSIGNED) and not self._certified
            self.heard = Handshake.RESUMED if resumed else Handshake.FULL
