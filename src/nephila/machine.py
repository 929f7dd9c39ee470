"""What this machine lets one process have: open files, and so connections."""

import errno
import os
import resource

from nephila.errors import UsageError

FILES_WANTED = 65_536
FILES_MIN = 128  # below it a worker would have hardly a connection
FILES_RESERVED = 96  # of a worker, beside its connections: database, archive, log, pipes of helpers, look-ups, spares

# Errors of the system that say nothing about the other side: this machine has no file, port or memory left.
LACKING = {
    errno.EMFILE: "open files (ulimit -n)",
    errno.ENFILE: "open files of the whole system",
    errno.EADDRNOTAVAIL: "local ports",
    errno.ENOBUFS: "memory for sockets",
    errno.ENOMEM: "memory",
}


def raise_file_limit() -> int:
    """Raise the limit of open files as far as it may be: the usual 1,024 is for programs of another kind.

    Answers the limit. Processes started from here inherit it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, FILES_WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return FILES_WANTED if soft == resource.RLIM_INFINITY else soft


def files_for_connections(files: int) -> int:
    """What is left for connections where a worker may have so many files open."""
    if files < FILES_MIN:
        raise UsageError(f"only {files} files may be open here, and a worker needs {FILES_MIN}: say `ulimit -n 1024`")
    return files - FILES_RESERVED


def out_of_files() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in LACKING
    return False
