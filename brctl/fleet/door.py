"""What a node runs before anything of brctl is there: it finds the bundle or takes it in, and hands over to its agent.

The text of this file goes over stdin in every run, so it is one file, small, and needs the standard library alone
(Python 3.8). The cache is a folder of the executing user's own, on the node's own disk. The bundle in it is unpacked
and compiled once; then a seal is put on it: name, mode, owner, size and both times of every file. A copy whose seal
does not match is replaced: one that was edited, half-cleaned by a tmp cleaner, or compiled by another Python. (To look
takes 1.5 ms; to hash the files and what was compiled from them, 5 to 8.) It is no defence against the user itself or
root. Where the cache cannot be had or written, the bundle runs from memory, and a note says why.
"""

import contextlib
import errno
import hashlib
import os
import stat
import sys
import zlib
from typing import Tuple

MOST = 64 * 1024 * 1024
_KEPT = 2
_UNUSED_S = 7 * 86400
"""Of admin hosts with builds of their own, each has an agent at work that may load the rest of its modules yet."""
_REST_S = 3600
_SEAL = "seal"
TUNING = "/var/lib/brctl/tune/open"
"""As in node/request.py: a transaction may need the agent to end."""


def cache_of(user: int) -> str:
    """Where the bundles of a user lie: both places outlive a reboot, and are not shared between nodes."""
    return "/var/cache/brctl" if user == 0 else "/var/tmp/brctl-{}".format(user)  # noqa: S108  # ownership is checked


def enter(digest: str, cache: str = "") -> None:
    """Run the agent of the bundle that has this SHA-256, on this process's stdin and stdout."""
    place, note = find(digest, cache or cache_of(os.geteuid()))
    sys.dont_write_bytecode = True  # it would break the seal
    sys.path.insert(0, place)
    from brctl.node import agent

    say("ready", note)
    agent.main()


def find(digest: str, cache: str) -> Tuple[str, str]:
    """What to put into sys.path, and what hindered the cache (empty: nothing)."""
    folder, why = os.path.join(cache, digest), ""
    try:
        own(cache)
        if sealed(folder):
            with contextlib.suppress(OSError):
                os.utime(folder)  # it is in use; the seal is on what is in it
            return folder, ""
    except OSError as error:
        why = str(error)
    archive = _receive(digest)
    try:
        if not why:
            _install(cache, folder, archive)
            return folder, ""
    except OSError as error:
        why = str(error)
    return _in_memory(archive), "the bundle is not cached: " + why


def own(folder: str) -> None:
    """Make the folder if need be. Raises OSError where it is not a folder of this user alone."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    check(folder)


def check(folder: str) -> None:
    """Raises OSError: it is a link, belongs to another user, or others may enter it."""
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "Not a folder of this user alone", folder)


def sealed(folder: str) -> bool:
    """Whether the copy is as it was when it was unpacked, by this Python."""
    try:
        check(folder)
        with open(os.path.join(folder, _SEAL)) as file:
            return file.read() == _seal(folder)
    except OSError:
        return False


def _seal(folder: str) -> str:
    """The change time cannot be set, so an edit shows even where size and modification time were put back."""
    lines = [sys.version]
    for place, folders, files in os.walk(folder):
        for path in (os.path.join(place, name) for name in folders + files if name != _SEAL):
            it = os.lstat(path)
            values = (it.st_mode, it.st_uid, it.st_size, it.st_mtime_ns, it.st_ctime_ns)
            lines.append("{} {}".format(path[len(folder) :], values))
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _receive(digest: str) -> bytes:
    """Ask for the bundle and take it from stdin."""
    say("absent")
    inflater = zlib.decompressobj()
    archive = inflater.decompress(read(int(read(10))), MOST)
    if hashlib.sha256(archive).hexdigest() != digest:
        sys.exit("the bundle did not arrive as it was sent")
    return archive


def _install(cache: str, folder: str, archive: bytes) -> None:
    """Unpack, compile, seal, and put it in its place in one step."""
    import compileall
    import io
    import shutil
    import tempfile
    import zipfile

    fresh = tempfile.mkdtemp(prefix=".new-", dir=cache)
    try:
        zipfile.ZipFile(io.BytesIO(archive)).extractall(fresh)
        compileall.compile_dir(fresh, ddir=folder, quiet=2)
        with open(os.path.join(fresh, _SEAL), "w") as file:
            file.write(_seal(fresh))
        _sync(fresh)
        if os.path.lexists(folder) and not sealed(folder):
            os.rename(folder, fresh + ".old")
        try:
            os.rename(fresh, folder)
        except OSError:
            if not sealed(folder):  # else another run was faster
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    _prune(cache)


def _sync(folder: str) -> None:
    for place, _, names in os.walk(folder):
        for name in (*names, "."):
            descriptor = os.open(os.path.join(place, name), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _prune(cache: str) -> None:
    """Keep the two bundles that were used last, and what was used within a week; remove the others, and what a run that
    was killed left an hour ago."""
    import shutil
    import time

    ages = {entry.path: time.time() - entry.stat(follow_symlinks=False).st_mtime for entry in os.scandir(cache)}
    rests = [path for path in ages if os.path.basename(path).startswith(".")]
    bundles = sorted(set(ages) - set(rests), key=lambda path: ages[path])
    unused = [path for path in bundles[_KEPT:] if ages[path] > _UNUSED_S]
    for path in unused + [path for path in rests if path.endswith(".old") or ages[path] > _REST_S]:
        if os.path.islink(path):
            os.remove(path)
        shutil.rmtree(path, ignore_errors=True)


def _in_memory(archive: bytes) -> str:
    """A zip that lies nowhere and goes with the process."""
    descriptor = os.memfd_create("brctl")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(archive)
    return "/proc/self/fd/{}".format(descriptor)


def clean(force: bool, cache: str = "") -> None:
    """Remove all that brctl left here, and answer with a Report that says what it was, or why it is still there."""
    import json
    import shutil
    import time

    folder = cache or cache_of(os.geteuid())
    report = {"node": "", "time": time.time(), "elapsed_s": 0.0}
    try:
        if os.path.lexists(TUNING) and not force:
            raise BlockingIOError("a tuning transaction is open: " + TUNING)
        check(folder)
        shutil.rmtree(folder)
        report["notes"] = ["removed {}".format(folder)]
    except FileNotFoundError:
        report["notes"] = ["nothing was left: there is no {}".format(folder)]
    except BlockingIOError as error:
        report["errors"] = [{"kind": "busy", "message": str(error), "hint": "end it first, or --force"}]
    except OSError as error:
        report["errors"] = [{"kind": "permission", "message": str(error)}]
    say("1", json.dumps(report))


def say(name: str, text: str = "") -> None:
    """Write a frame (node/frame.py) to stdout."""
    body = zlib.compress(text.encode()) if text else b""
    header = "\x1ebrctl1 {} {} {}\n".format(name, len(body), zlib.crc32(body))
    os.write(1, header.encode() + body)


def read(number: int) -> bytes:
    """So many bytes from stdin, and not one more: the agent reads on where this ends."""
    text = b""
    while len(text) < number:
        chunk = os.read(0, number - len(text))
        if not chunk:
            sys.exit("stdin ended")
        text += chunk
    return text
