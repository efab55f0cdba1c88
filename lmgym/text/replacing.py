"""Replace files as a whole: a failed or interrupted write leaves the former file as it was."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Write a file under another name in the same folder, and rename it. What is not a regular file (a pipe, a
    terminal) is written to directly. Raises OSError, which names `path`."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    target = path.resolve()  # of a link, the file it names is replaced
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        with suppress(OSError):
            shutil.copymode(target, part)
        os.replace(part, target)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextmanager
def replacing_files(folder: Path) -> Iterator[Path]:
    """Yield an empty folder; afterwards its files replace those of `folder`, or none if an exception is raised. Raises
    OSError, which names `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=".part-", dir=folder) as name:
            part = Path(name)
            yield part
            for path in sorted(part.iterdir()):
                os.replace(path, folder / path.name)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from error
