"""Certificates that no client should take, made by openssl: each a PEM file with its key; `ca.crt` is to be trusted."""

import shutil
import subprocess
from pathlib import Path

NEW_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
# By their kind: who signs it (none: itself), and for how many days it is valid.
KINDS: dict[str, tuple[str, int]] = {
    "good": ("ca", 2),
    "expired": ("ca", -1),
    "wrong-name": ("ca", 2),
    "self-signed": ("", 2),
    "unknown-issuer": ("stranger", 2),
}


def make_certificates(folder: Path, domain: str) -> None:
    """Write `<kind>.pem` for each kind, for all names below the domain but that of the wrong name."""
    if shutil.which("openssl") is None:
        raise FileNotFoundError("needs openssl: install the package openssl")
    folder.mkdir(exist_ok=True)
    for authority in ("ca", "stranger"):
        _openssl(
            folder, f"req -x509 {NEW_KEY} -days 2 -subj /CN={authority} -keyout {authority}.key -out {authority}.crt"
        )
    for kind, (issuer, days) in KINDS.items():
        name = "*.wrong.test" if kind == "wrong-name" else f"*.{domain}"
        wanted = f"{NEW_KEY} -subj /CN={kind} -addext subjectAltName=DNS:{name} -keyout {kind}.key"
        if issuer:
            _openssl(folder, f"req -new {wanted} -out {kind}.csr")
            signing = f"-CA {issuer}.crt -CAkey {issuer}.key -CAcreateserial -copy_extensions copy -days {days}"
            _openssl(folder, f"x509 -req -in {kind}.csr {signing} -out {kind}.crt")
        else:
            _openssl(folder, f"req -x509 {wanted} -days {days} -out {kind}.crt")
        both = (folder / f"{kind}.key").read_bytes() + (folder / f"{kind}.crt").read_bytes()
        (folder / f"{kind}.pem").write_bytes(both)


def _openssl(folder: Path, command: str) -> None:
    subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
