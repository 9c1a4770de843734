"""/metrics and FILE.prom: what is served, to whom, and what becomes of it when ticks stop."""

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from brctl.cli.errors import CommandError
from brctl.cli.exporter import Page, endpoint, serve
from brctl.cli.feed import Feed
from brctl.cli.httpd import Answer, Server, context
from brctl.cli.outlet import Outlet, Serving, Tls, serving
from brctl.cli.textfile import TextFile
from brctl.node.report import NodeError, Report, Sample, Series, State

POWER = Series("brctl_gpu_power_watts", "watts", "gauge", ("gpu", "uuid"), "Drawn.", "NVML", "gpu-power")
OPEN = "application/openmetrics-text;version=1.0.0"
SILENT = NodeError("timeout", "no answer")


def _report(watts: float, node: str = "gpu001") -> Report:
    samples = (Sample(POWER.name, ("0", "GPU-0"), watts, State.MEASURED, 0.0),)
    return Report(node, 0.0, 0.0, series=(POWER,), samples=samples)


def _lines(text: bytes, *names: str) -> "list[str]":
    return [line for line in text.decode().splitlines() if line.startswith(names or ("brctl_gpu", "brctl_node_up"))]


# ---------------------------------------------------------------------------------------------------------------------
# The page


def test_a_page_has_the_newest_tick_and_no_other() -> None:
    page = Page(None)
    assert _lines(page.text()) == []
    page.show([_report(400)])
    page.show([_report(410)])
    assert _lines(page.text()) == [
        'brctl_node_up{node="gpu001"} 1',
        'brctl_gpu_power_watts{node="gpu001",gpu="0",uuid="GPU-0"} 410',
    ]


def test_a_text_is_made_once_a_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(None)
    page.show([_report(400)])
    assert page.text() is page.text()
    assert page.text(open_metrics=True) is page.text(open_metrics=True)


def test_of_a_silent_node_there_is_that_it_is_silent_and_since_when(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(None)
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    page.show([_report(400), _report(300, "gpu002")])
    monkeypatch.setattr(time, "time", lambda: 1005.0)
    page.show([_report(400), Report("gpu002", 0.0, 0.0, errors=(SILENT,))])
    assert _lines(page.text(), "brctl_node", "brctl_gpu") == [
        'brctl_node_up{node="gpu001"} 1',
        'brctl_node_up{node="gpu002"} 0',
        'brctl_node_last_success_timestamp_seconds{node="gpu001"} 1005',
        'brctl_node_last_success_timestamp_seconds{node="gpu002"} 1000',
        'brctl_gpu_power_watts{node="gpu001",gpu="0",uuid="GPU-0"} 400',
    ]


def test_of_a_node_that_was_not_asked_yet_it_is_not_known_whether_it_is_up() -> None:
    page = Page(None)
    page.show([Report("gpu001", 0.0, 0.0, errors=(NodeError("not-asked", "it has not answered yet"),))])
    assert b"gpu001" not in page.text()


def test_where_no_tick_comes_nothing_old_is_served() -> None:
    page = Page(None)
    page.show([_report(400)])
    page.expire()
    assert _lines(page.text()) == ['brctl_node_up{node="gpu001"} 0']


@pytest.mark.parametrize(
    ("accept", "dcgm", "type_"),
    [
        ("*/*", None, "text/plain; version=0.0.4; charset=utf-8"),
        (OPEN, None, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        (OPEN, "hostname", "text/plain; version=0.0.4; charset=utf-8"),
    ],
)  # fmt: skip
def test_the_form_is_what_the_scraper_asks_for(accept: str, dcgm: "str | None", type_: str) -> None:
    page = Page(dcgm)
    page.show([_report(400)])
    answer = page.answer("/metrics", {"accept": accept})
    assert (answer.status, answer.type) == ("200 OK", type_)
    assert (b"# EOF" in answer.body) == ("openmetrics" in type_)
    assert (b"DCGM_FI_DEV_POWER_USAGE{" in answer.body) == bool(dcgm)


def test_other_paths() -> None:
    assert Page(None).answer("/-/healthy", {}).status == "200 OK"
    assert Page(None).answer("/", {}).status == "404 Not Found"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("127.0.0.1:9836", ("127.0.0.1", 9836)), ("[::1]:80", ("::1", 80)), (":9836", ("0.0.0.0", 9836))],
)
def test_endpoints(text: str, wanted: "tuple[str, int]") -> None:
    assert endpoint(text) == wanted


@pytest.mark.parametrize("text", ["9836", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", ""])
def test_what_is_no_endpoint_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match="write ADDRESS:PORT"):
        endpoint(text)


NOTHING = Outlet(None, None, None, None, None, None, None)


def test_what_the_command_line_comes_to() -> None:
    assert serving(NOTHING, 5.0, "127.0.0.1:9836") == Serving(5.0, "127.0.0.1:9836")
    file = Path("a.prom")
    assert serving(NOTHING._replace(textfile=file), 5.0, "127.0.0.1:9836") == Serving(5.0, None, file)
    both = NOTHING._replace(textfile=file, listen=":1", compat="dcgm", tls_cert=Path("c"), client_ca=Path("d"))
    assert serving(both, 5.0, "127.0.0.1:9836") == Serving(5.0, ":1", file, "hostname", Tls(Path("c"), None, Path("d")))
    named = NOTHING._replace(compat="dcgm", hostname_label="both")
    assert serving(named, 5.0, ":2") == Serving(5.0, ":2", None, "both")


@pytest.mark.parametrize(
    "outlet",
    [
        NOTHING._replace(hostname_label="both"),
        NOTHING._replace(tls_key=Path("k")),
        NOTHING._replace(client_ca=Path("k")),
        NOTHING._replace(tls_cert=Path("k"), textfile=Path("a.prom")),
    ],
)
def test_options_that_do_not_fit_are_refused(outlet: Outlet) -> None:
    with pytest.raises(CommandError, match=r"--compat dcgm alone|need --tls-cert|--listen alone"):
        serving(outlet, 5.0, ":2")


# ---------------------------------------------------------------------------------------------------------------------
# The feed


def test_a_feed_gives_the_newest_tick_and_then_its_end() -> None:
    release = threading.Event()

    def ticks() -> Iterator[Sequence[Report]]:
        yield [_report(1)]
        yield [_report(2)]
        release.wait(10)
        yield [_report(3)]

    feed = Feed(ticks())
    deadline = time.monotonic() + 10
    while (tick := feed.latest()) is None or tick.number < 2:
        assert time.monotonic() < deadline
    assert feed.wait(2, 0.001) is None
    release.set()
    last = feed.wait(2, 10)
    assert last
    assert last.reports[0].samples[0].value == 3
    assert feed.wait(3, 10) is None
    assert feed.ended
    assert feed.error is None


def test_notes_of_ticks_that_were_passed_over_are_kept() -> None:
    def ticks() -> Iterator[Sequence[Report]]:
        for number in range(3):
            yield [_report(1)._replace(notes=(f"note {number}",)), _report(1, "gpu002")]

    feed = Feed(ticks())
    _until(lambda: feed.ended)
    last = feed.latest()
    assert last
    assert [report.notes for report in last.reports] == [("note 0", "note 1", "note 2"), ()]


def test_that_the_only_node_broke_off_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for reports, code in (([Report("gpu001", 0.0, 0.0, errors=(SILENT,))], 3), ([_report(1)], 0), ([], 0)):
        feed = Feed(iter([reports]))
        _until(lambda feed=feed: feed.ended)  # type: ignore[misc]
        assert feed.outcome() == code
    assert capsys.readouterr().err == "error: gpu001: no answer\n"


def test_what_ends_the_ticks_is_kept() -> None:
    def ticks() -> Iterator[Sequence[Report]]:
        raise CommandError("no node")
        yield []

    feed = Feed(ticks())
    assert feed.wait(0, 10) is None
    assert isinstance(feed.error, CommandError)


# ---------------------------------------------------------------------------------------------------------------------
# The file


def test_a_file_is_replaced_as_a_whole_and_can_be_read_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    file, before = TextFile(tmp_path / "brctl.prom"), os.umask(0o077)
    try:
        file.write(b"a 1\n")
        first = (tmp_path / "brctl.prom").stat().st_ino
        file.write(b"a 2\n")
    finally:
        os.umask(before)
    written = tmp_path / "brctl.prom"
    assert (written.read_bytes(), written.stat().st_mode & 0o777) == (b"a 2\n", 0o644)
    assert written.stat().st_ino != first
    assert len(synced) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["brctl.prom"]
    file.remove()
    file.remove()
    assert not list(tmp_path.iterdir())


def test_while_it_is_written_its_name_is_no_prom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _: names.extend(each.name for each in tmp_path.iterdir()))
    TextFile(tmp_path / "brctl.prom").write(b"a 1\n")
    assert len(names) == 1
    assert not names[0].endswith(".prom")


def test_a_full_disk_leaves_no_old_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = TextFile(tmp_path / "brctl.prom")
    file.write(b"a 1\n")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        file.write(b"a 2\n")
    assert not list(tmp_path.iterdir())


def test_files_that_cannot_be_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"reads \*\.prom alone"):
        TextFile(tmp_path / "brctl.txt")
    with pytest.raises(CommandError, match="there is no folder"):
        TextFile(tmp_path / "none" / "brctl.prom")
    (tmp_path / "folder.prom").mkdir()
    with pytest.raises(CommandError, match="no regular file"):
        TextFile(tmp_path / "folder.prom")


def test_a_driver_that_dies_leaves_its_health_alone_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """pai#889, node_exporter#713: the last good values were served for ever."""
    file, seen = tmp_path / "brctl.prom", []

    def ticks() -> Iterator[Sequence[Report]]:
        yield [_report(400)]
        _until(lambda: file.exists() and b"power" in file.read_bytes())
        seen.append(file.read_bytes())
        yield [Report("gpu001", 0.0, 0.0, errors=(SILENT,))]
        _until(lambda: b"power" not in file.read_bytes())
        seen.append(file.read_bytes())

    assert serve(ticks(), Serving(60, None, file)) == 3
    assert capsys.readouterr().err == "error: gpu001: no answer\n"
    assert 'brctl_node_up{node="gpu001"} 1' in _lines(seen[0])
    assert _lines(seen[1]) == ['brctl_node_up{node="gpu001"} 0']
    assert _lines(seen[1], "brctl_node_last_success_timestamp_seconds")
    names = {line.split("{")[0].split(" ")[0] for text in seen for line in text.decode().splitlines() if line[0] != "#"}
    assert all(name.startswith("brctl_") for name in names)
    assert not list(tmp_path.iterdir()), "it is gone with us"


def test_ticks_that_stop_coming_leave_nothing_old_in_the_file(tmp_path: Path) -> None:
    file, seen = tmp_path / "brctl.prom", []

    def ticks() -> Iterator[Sequence[Report]]:
        yield [_report(400)]
        _until(lambda: file.exists() and b"brctl_node_up{" in file.read_bytes() and b"power" not in file.read_bytes())
        seen.append(file.read_bytes())

    serve(ticks(), Serving(-0.49, None, file))  # patience: 20 ms
    assert _lines(seen[0]) == ['brctl_node_up{node="gpu001"} 0']


@pytest.mark.parametrize(("failures", "code"), [(99, 3), (2, 0)])
def test_trouble_with_the_file_is_told_once_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failures: int, code: int
) -> None:
    """Where it was never written at all, that is not all of the job."""
    tried: list[int] = []

    def sync(_: int) -> None:
        tried.append(1)
        if len(tried) <= failures:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", sync)

    def ticks() -> Iterator[Sequence[Report]]:
        for count in range(1, 4):
            yield [_report(400)]
            _until(lambda count=count: len(tried) >= count)  # type: ignore[misc]

    assert serve(ticks(), Serving(60, None, tmp_path / "b.prom")) == code
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_what_ends_the_ticks_ends_the_exporter(tmp_path: Path) -> None:
    def ticks() -> Iterator[Sequence[Report]]:
        raise CommandError("no node")
        yield []

    with pytest.raises(CommandError, match="no node"):
        serve(ticks(), Serving(1, None, tmp_path / "b.prom"))


def _until(true: "Callable[[], bool]", limit_s: float = 20) -> None:
    end = time.monotonic() + limit_s
    while True:
        with contextlib.suppress(OSError):
            if true():
                return
        assert time.monotonic() < end
        time.sleep(0.005)


# ---------------------------------------------------------------------------------------------------------------------
# The server


@pytest.fixture
def server() -> Iterator[Server]:
    it = Server("127.0.0.1", 0)
    it.start(lambda path, headers: Answer("200 OK", "text/plain", f"{path} {headers.get('accept')}".encode()))
    yield it
    it.close()


def _connect(server: Server) -> socket.socket:
    host, port = server.url.split("//")[1].rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=20)


def _ask(client: socket.socket, text: bytes) -> bytes:
    client.sendall(text)
    return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.real
def test_it_answers_get_and_head_and_nothing_else(server: Server) -> None:
    with urllib.request.urlopen(f"{server.url}/metrics?x=1", timeout=20) as answer:
        assert (answer.status, answer.read(), answer.headers["Connection"]) == (200, b"/metrics None", "close")
    with _connect(server) as client:
        head = _ask(client, b"HEAD / HTTP/1.0\r\nACCEPT:  x \r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert head.endswith(b"\r\n\r\n")
    assert b"Content-Length: 3\r\n" in head
    with pytest.raises(urllib.error.HTTPError, match="405"):
        urllib.request.urlopen(server.url, data=b"x", timeout=20)


@pytest.mark.real
@pytest.mark.parametrize("text", [b"GET\r\n\r\n", b"\x16\x03\x01\r\n\r\n", b"GET / FTP/1\r\n\r\n", b"x" * 9000])
def test_what_is_no_request_gets_no_answer(server: Server, text: bytes) -> None:
    with _connect(server) as client, contextlib.suppress(ConnectionError):
        assert _ask(client, text) == b""


@pytest.mark.real
def test_those_who_say_nothing_hold_nobody_up(server: Server) -> None:
    idle = [_connect(server) for _ in range(40)]
    began = time.monotonic()
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=20) as answer:
        assert answer.read() == b"/metrics None"
    assert time.monotonic() - began < 8
    idle[0].settimeout(20)
    assert idle[0].recv(1) == b"", "the one who has been for longest is hung up on"
    for client in idle:
        client.close()


@pytest.mark.real
def test_a_client_has_one_deadline_for_all(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brctl.cli.httpd.LIMIT_S", 0.3)
    began = time.monotonic()
    with _connect(server) as client, contextlib.suppress(ConnectionError):
        while time.monotonic() - began < 10:
            client.sendall(b"a")
            time.sleep(0.05)
    assert time.monotonic() - began < 8


@pytest.mark.real
def test_want_of_descriptors_or_threads_passes(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    real, refusals = server._socket.accept, [OSError(24, "Too many open files")]

    class Listener:
        def accept(self) -> object:
            if refusals:
                raise refusals.pop()
            return real()

        def __getattr__(self, name: str) -> object:
            return getattr(listener, name)

    listener, starts = server._socket, [RuntimeError("can't start new thread")]
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if starts and thread.name != "listen":
            raise starts.pop()
        start(thread)

    other = Server("127.0.0.1", 0)
    listener, real = other._socket, other._socket.accept
    other._socket = Listener()  # type: ignore[assignment]
    monkeypatch.setattr(threading.Thread, "start", refuse)
    other.start(lambda *_: Answer("200 OK", "text/plain", b"x"))
    with _connect(other) as client, contextlib.suppress(ConnectionError):
        assert _ask(client, b"GET / HTTP/1.0\r\n\r\n") == b"", "there was no thread for this one"
    with urllib.request.urlopen(other.url, timeout=20) as answer:
        assert answer.read() == b"x"
    other.close()


@pytest.mark.real
def test_a_port_in_use_is_one_clear_error(server: Server) -> None:
    port = int(server.url.rsplit(":", 1)[1])
    with pytest.raises(CommandError, match=f"cannot listen on 127.0.0.1:{port}: the port is in use") as error:
        Server("127.0.0.1", port)
    assert error.value.hint == f"name another with --listen; `ss -ltnp 'sport = {port}'` shows who has it"
    assert error.value.code == 3
    with pytest.raises(CommandError, match=r"cannot listen on 192\.0\.2\.1:80: "):
        Server("192.0.2.1", 80)


@pytest.mark.real
def test_ipv6() -> None:
    try:
        server = Server("::1", 0)
    except CommandError:
        pytest.skip("no IPv6 here")
    assert server.url.startswith("http://[::1]:")
    server.close()


@pytest.fixture(scope="session")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of localhost, signed by itself, with its key; and another's."""
    folder = tmp_path_factory.mktemp("pems")
    for name in ("server", "client", "stranger"):
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                   "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                   "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt"]  # fmt: skip
        try:
            subprocess.run(command, check=True, capture_output=True)
        except FileNotFoundError:
            pytest.skip("no openssl here")
    return folder


@pytest.mark.real
def test_with_tls_and_a_certificate_of_the_client(pems: Path) -> None:
    tls = Tls(pems / "server.crt", pems / "server.key", pems / "client.crt")
    server = Server("127.0.0.1", 0, tls)
    server.start(lambda *_: Answer("200 OK", "text/plain", b"x" * 300_000))
    assert server.url.startswith("https://")

    def fetch(name: str) -> int:
        client = ssl.create_default_context(cafile=str(pems / "server.crt"))
        if name:
            client.load_cert_chain(pems / f"{name}.crt", pems / f"{name}.key")
        with urllib.request.urlopen(server.url, timeout=20, context=client) as answer:
            return len(answer.read())

    try:
        assert fetch("client") == 300_000
        for name in ("", "stranger"):
            with pytest.raises(OSError):  # noqa: PT011  # an alert, or a reset, as the kernel has it
                fetch(name)
        with _connect(server) as plain, contextlib.suppress(ConnectionError):
            assert b"HTTP" not in _ask(plain, b"GET / HTTP/1.0\r\n\r\n")
        assert fetch("client") == 300_000
    finally:
        server.close()


@pytest.mark.real
def test_files_that_are_no_certificates_are_refused(pems: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"none\.crt: No such file or directory"):
        context(Tls(tmp_path / "none.crt"))
    with pytest.raises(CommandError, match=r"server.key, .*client.crt"):
        context(Tls(pems / "server.key", None, pems / "client.crt"))
    key = tmp_path / "locked.key"
    subprocess.run(["openssl", "ec", "-aes128", "-passout", "pass:x", "-in", pems / "server.key", "-out", key],
                   check=True, capture_output=True)  # fmt: skip
    with pytest.raises(CommandError, match="the key has a password"):
        context(Tls(pems / "server.crt", key))


@pytest.mark.real
def test_the_whole_serves_and_ends_at_sigterm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[bytes] = []
    file = tmp_path / "brctl.prom"

    def ticks() -> Iterator[Sequence[Report]]:
        yield [_report(400)]
        url = capsys.readouterr().out.strip()
        assert url.endswith("/metrics")
        _until(lambda: b"power" in file.read_bytes())
        with urllib.request.urlopen(url, timeout=20) as answer:
            seen.append(answer.read())
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(60)  # as a driver that hangs

    assert serve(ticks(), Serving(60, "127.0.0.1:0", file)) == 0
    assert 'brctl_gpu_power_watts{node="gpu001",gpu="0",uuid="GPU-0"} 400' in _lines(seen[0])
    assert not file.exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
