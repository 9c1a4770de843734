import hashlib
import io
import zipfile
import zlib

from brctl.fleet.bundle import Bundle, _archive


def _open(bundle: Bundle) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(zlib.decompress(bundle.transfer[10:])))


def test_it_is_the_same_whenever_it_is_made() -> None:
    first, second = Bundle(), Bundle()
    assert first.digest == second.digest
    assert first.transfer == second.transfer
    assert _archive({"b": b"2", "a": b"1"}) == _archive({"a": b"1", "b": b"2"})
    assert _archive({"a": b"1"}) != _archive({"a": b"2"})


def test_it_is_named_by_its_sha_256() -> None:
    bundle = Bundle()
    archive = zlib.decompress(bundle.transfer[10:])
    assert bundle.digest == hashlib.sha256(archive).hexdigest()
    assert int(bundle.transfer[:10]) == len(bundle.transfer) - 10


def test_it_holds_what_a_node_needs_and_no_more() -> None:
    names = _open(Bundle()).namelist()
    assert names == sorted(names)
    assert {"brctl/__init__.py", "brctl/node/agent.py", "brctl/node/diagnose/checks/gpu_count.py", "pynvml.py"} <= {
        *names
    }
    assert "psutil/_pslinux.py" in names
    assert [name for name in names if name.startswith("psutil/") and name.endswith(".so")]
    others = {name for name in names if not name.startswith(("brctl/node/", "psutil/"))}
    assert others == {"brctl/__init__.py", "pynvml.py"}
    assert not [name for name in names if "__pycache__" in name or "_pswindows" in name]


def test_nothing_in_it_is_for_others() -> None:
    assert {entry.external_attr >> 16 for entry in _open(Bundle()).infolist()} == {0o600}


def test_it_is_small() -> None:
    assert len(Bundle().transfer) < 500_000
