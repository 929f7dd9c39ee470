"""A name server of our own on loopback, in a thread; it answers from a table and remembers every question."""

import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import Self

A, CNAME, SOA, AAAA = 1, 5, 6, 28
Record = tuple[str, int, int, str]  # owner, type, ttl, data

SERVFAIL, NXDOMAIN = 2, 3
HEAD_BYTES = 12
DATAGRAM_BYTES_MAX = 4096


def packed_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def packed(record: Record) -> bytes:
    owner, kind, ttl, text = record
    if kind == CNAME:
        data = packed_name(text)
    else:
        data = socket.inet_pton(socket.AF_INET if kind == A else socket.AF_INET6, text)
    return packed_name(owner) + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data


def packed_soa(ttl: int) -> bytes:
    data = packed_name("ns.test") + packed_name("root.test") + struct.pack(">IIIII", 1, ttl, ttl, ttl, ttl)
    return packed_name("test") + struct.pack(">HHIH", SOA, 1, ttl, len(data)) + data


@dataclass
class NameServer:
    zone: dict[tuple[str, int], list[Record]] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)
    negative_ttl: int | None = None  # seconds for which resolvers may remember that a name does not exist
    late: set[str] = field(default_factory=set)  # from the first question for one of these on nothing is answered
    gate: threading.Event = field(default_factory=threading.Event)  # until this is set
    asked: list[tuple[str, int]] = field(default_factory=list)  # noted before the answer is sent; each question once
    numbers: set[tuple[bytes, str, int]] = field(default_factory=set)  # of questions: c-ares repeats one after 250 ms

    def __enter__(self) -> Self:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._closing = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closing = True
        self.gate.set()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    @property
    def address(self) -> str:
        host, port = self._socket.getsockname()
        return f"{host}:{port}"

    def add(self, name: str, address: str, *cnames: str) -> None:
        """An address, by way of a chain of names."""
        owners = [name, *cnames]
        chain = [(owner, CNAME, 60, target) for owner, target in zip(owners, cnames, strict=False)]
        self.zone[name, A] = [*chain, (owners[-1], A, 60, address)]

    def _serve(self) -> None:
        while True:
            data, client = self._socket.recvfrom(DATAGRAM_BYTES_MAX)
            if self._closing:
                return
            self._socket.sendto(self._answer(data), client)

    def _answer(self, data: bytes) -> bytes:
        end, labels = HEAD_BYTES, []
        while length := data[end]:
            labels.append(data[end + 1 : end + 1 + length].decode())
            end += length + 1
        name, kind = ".".join(labels), struct.unpack(">H", data[end + 1 : end + 3])[0]
        if (data[:2], name, kind) not in self.numbers:
            self.numbers.add((data[:2], name, kind))
            self.asked.append((name, kind))
        if name in self.late:
            self.gate.wait()
        records = self.zone.get((name, kind), [])
        known = any(owner == name for owner, _ in self.zone)
        code = SERVFAIL if name in self.failing else 0 if known else NXDOMAIN
        authority = [packed_soa(self.negative_ttl)] if self.negative_ttl and code == NXDOMAIN else []
        header = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), len(authority), 0)
        return header + data[HEAD_BYTES : end + 5] + b"".join([*map(packed, records), *authority])
