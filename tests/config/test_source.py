"""What is refused before any key is looked at."""

import time
from pathlib import Path
from typing import Any

import pytest

from brctl.config import source
from brctl.config.load import load
from brctl.config.mistake import ConfigError


def whole(data: bytes | str) -> str:
    """The text of the one error that the file ends in."""
    Path("c.yaml").write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(ConfigError) as caught:
        load(Path("c.yaml"))
    assert len(caught.value.mistakes) == 1
    return str(caught.value)


def data(text: str) -> Any:
    document = source.parse(text.encode(), "c.yaml")
    assert document.mistakes == []
    return document.data


@pytest.mark.parametrize("text", ["", "\n\n", "---\n", "# only a comment\n", "~\n"])
def test_empty(text: str) -> None:
    assert whole(text).startswith("error: c.yaml:1:1: the file is empty\n") or text == "\n\n"
    assert "\nhint: `brctl config init --force c.yaml` writes one that fits this host over it" in whole(text)


@pytest.mark.parametrize("text", ["[1]", "just words\n"])
def test_no_mapping(text: str) -> None:
    assert whole(text).startswith("error: c.yaml:1:1: a config is `key: value` lines\n")


def test_tab() -> None:
    assert whole("version: 1\ntune:\n  \tgpu: {}\n") == (
        "error: c.yaml:3:3: a tab in the indentation\n"
        "    3 |    gpu: {}\n"
        "      |   ^\n"
        "hint: YAML indents with spaces alone"
    )


def test_bad_utf8() -> None:
    assert whole(b"version: 1\nname: caf\xe9 x\n") == (
        "error: c.yaml:2:10: byte 0xe9 is not UTF-8\n"
        "    2 | name: caf\ufffd x\n"
        "      |          ^\n"
        "hint: save the file as UTF-8"
    )
    assert whole("version: 1".encode("utf-16")).startswith("error: c.yaml:1:1: byte 0xff is not UTF-8\n")


def test_unprintable_characters_reach_no_terminal() -> None:
    assert whole("a: 1\nb: \x1b[31m\n") == (
        "error: c.yaml:2:4: unprintable character U+001B\n    2 | b: ?[31m\n      |    ^\nhint: remove it"
    )


def test_a_byte_order_mark_is_accepted() -> None:
    assert data("\ufeffa: 1\n") == {"a": 1}
    assert "U+FEFF" in whole("a: 1\n\ufeffb: 2\n")


def test_a_second_document() -> None:
    assert whole("version: 1\n---\nversion: 1\n").startswith("error: c.yaml:2:1: a second document begins\n")


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def message(path: Path) -> str:
        with pytest.raises(ConfigError) as caught:
            source.read(path)
        return str(caught.value)

    missing = "no such file or directory\nhint: "
    assert message(Path("none.yaml")) == (
        f"error: none.yaml: {missing}`brctl config init none.yaml` writes one that fits this host"
    )
    assert message(Path("a b.yaml")).endswith("`brctl config init 'a b.yaml'` writes one that fits this host")
    assert message(Path("none/c.yaml")) == f"error: none/c.yaml: {missing}there is no folder none"
    Path("folder").mkdir()
    assert message(Path("folder")) == "error: folder: is a directory"
    assert message(Path("nul\0")) == "error: nul?: embedded null byte"

    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    assert message(Path("secret.yaml")) == "error: secret.yaml: permission denied"


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    with open("large.yaml", "wb") as file:
        file.truncate(2_000_000_000)
    began = time.process_time()
    with pytest.raises(ConfigError, match=r"^error: large.yaml: more than 4MiB: this is no config$"):
        source.read(Path("large.yaml"))
    assert time.process_time() - began < 0.5


def test_an_endless_file_is_not_read_to_its_end() -> None:
    with pytest.raises(ConfigError, match="more than 4MiB"):
        source.read(Path("/dev/zero"))


def test_aliases_and_so_alias_bombs() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    document = source.parse(bomb.encode(), "c.yaml")
    assert len(document.mistakes) == 24
    assert document.mistakes[0].show() == (
        "error: c.yaml:2:8: b[0]: YAML aliases are not read\n"
        "    2 | b: &b [*a, *a, *a]\n"
        "      |        ^\n"
        "hint: write the value out, or put quotes around it"
    )
    assert document.data["i"] == []


def test_tags() -> None:
    document = source.parse(b'a: !!python/object/apply:os.system ["id"]\nb: !x 1\n!!str c: 2\n', "c.yaml")
    assert [(it.path, it.message) for it in document.mistakes] == [
        ("a", "YAML tags are not read: tag:yaml.org,2002:python/object/apply:os.system"),
        ("b", "YAML tags are not read: !x"),
        ("?", "YAML tags are not read: tag:yaml.org,2002:str"),
        ("", "a key must be text"),
    ]
    assert document.data == {}


def test_duplicate_keys_are_told_and_the_first_is_kept() -> None:
    document = source.parse(b"a: {b: 1, c: 2}\nd: 1\na: {b: 3, b: 4}\n", "c.yaml")
    assert document.mistakes[0].show() == (
        "error: c.yaml:3:1: a: duplicate key\n    3 | a: {b: 3, b: 4}\n      | ^\nhint: it stands on line 1 too"
    )
    assert document.data == {"a": {"b": 1, "c": 2}, "d": 1}


def test_keys_that_are_no_text() -> None:
    document = source.parse(b"1: a\ntrue: b\n~: c\n? [x, {y: z}]\n: d\n{q: r}: e\ngood: f\n", "c.yaml")
    assert {it.message for it in document.mistakes} == {"a key must be text"}
    assert [it.hint for it in document.mistakes][:3] == [f'put quotes around it: "{key}"' for key in ("1", "true", "~")]
    assert [it.place and it.place.line for it in document.mistakes] == [1, 2, 3, 4, 6]
    assert document.data == {"good": "f"}


def test_a_key_without_a_value() -> None:
    document = source.parse(b"tune:\n  network:\n  gpu: {}\n", "c.yaml")
    (mistake,) = document.mistakes
    assert (mistake.path, mistake.message, str(mistake.place)) == ("tune.network", "no value", "c.yaml:2:3")


def test_depth_and_number_of_values_are_bounded() -> None:
    assert "more than 32 levels" in whole("a: " + "[" * 33 + "]" * 33)
    assert "more than 32 levels" in whole("a: " + "[" * 900)
    assert "nesting depth" in whole("a: " + "[" * 100_000)
    assert "more than 100000 values" in whole("a: [" + "1," * 100_001 + "]")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("True", True),
        ("false", False),
        ("010", "010"),
        ("0x1f", "0x1f"),
        ("10:30", "10:30"),
        ("-7", -7),
        ("1_000", "1_000"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".inf", ".inf"),
        ("9" * 30, "9" * 30),
        ('"1"', "1"),
        ("'true'", "true"),
        ("2024-01-01", "2024-01-01"),
        ("=", "="),
    ],
)
def test_words_mean_what_they_seem_to(written: str, read: Any) -> None:
    value = data(f"a: {written}\n")["a"]
    assert (value, type(value)) == (read, type(read))


UNCLOSED = ("the quotes that open here are not closed", "close them on this line")
UNFIT = ("the indentation fits no line above", "align it with the keys that it belongs to")
SYNTAX = {
    "comm:\n  dscp: 26\n    rails: 8\n": (
        "3:5",
        "the key is indented too far",
        "line 2 already has a value: align it with that",
    ),
    "comm:\n    dscp: 26\n   rails: 8\n": (
        "3:4",
        "the indentation fits no line above",
        "align it with the keys that it belongs to",
    ),
    "comm:\n  dscp:26\n  # note\n  rails: 8\n": (
        "2:3",
        "no ': ' after the key",
        "write `key: value`, with a space after the colon",
    ),
    "a: b: c\n": ("1:5", "a second ': ' on the line", "put quotes around a value with ': ' in it"),
    "a: {nodes: gpu[1-4]}\n": (
        "1:15",
        "[ within { } begins a list",
        'put quotes around a node set: "gpu[001-128]"',
    ),
    "a: {b: 1\nc: 2\n": ("1:4", "{ is not closed", "close it, or put quotes around a value with [ ] { } or ,"),
    "a: [1, 2\nc: 2\n": ("1:4", "[ is not closed", "close it, or put quotes around a value with [ ] { } or ,"),
    'a: "gpu[1-4]\nb: 1\n': ("1:4", *UNCLOSED),
    'a:\n  b: "x\n  c: "gpu[1-4]"\n  d: "y"\n': ("2:6", *UNCLOSED),
    "a:\n  b: 'x\n  c: 'gpu[1-4]'\n": ("2:6", *UNCLOSED),
    'a: "b" c\nd: "e"\n': ("1:8", "the value ends before this", "put quotes around the whole value, and none in it"),
    "a:\n    b: 1\n  c: 2\n": ("2:5", "the key is indented too far", "align it with line 3"),
    "a:\n    b: 1\n\n   # note\n   c: 2\nd:\n   e: 1\n": (
        "2:5",
        "the key is indented too far",
        "align it with line 5",
    ),
    "a:\n  b: 1\n c: 2\n": ("3:2", *UNFIT),
    " a: 1\nb: 1\n": ("1:1", "the first key is indented", "align it with line 2"),
    "a:\n  - b: 1\n   c: 2\n": ("3:4", *UNFIT),
    "a:\n  model: x\n  count 8\n  b: 1\n": ("3:3", "no ': ' after the key", "a colon is missing after 'count'?"),
    "a:\n  count 8\n  b: 1\n": ("2:3", "no ': ' after the key", "a colon is missing after 'count'?"),
    "nodes: @compute\n": ("1:8", "a value cannot begin like this", "put quotes around the value"),
    "driver: >=550,<600\n": ("1:9", "> and | begin a block of text in YAML", "put quotes around the value"),
    "nics: {interfaces: *np*}\n": ("1:20", "* and & have a meaning in YAML", "put quotes around the value"),
    "listen: [::1]:80\n": ("1:10", "a value is expected here", "put quotes around the value"),
    "a: - b\n": ("1:4", "a list item cannot stand here", "begin the list on the next line"),
    'a: "\\q"\n': ("1:5", "found unknown escape character", None),
}


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        source.parse(text.encode(), "c.yaml")
    (mistake,) = caught.value.mistakes
    assert (str(mistake.place), mistake.message, mistake.hint) == (f"c.yaml:{SYNTAX[text][0]}", *SYNTAX[text][1:])


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ("version 1\n", "c.yaml:1:1: a config is", "a colon is missing after 'version'?"),
        ("hardware:\n  all:\n    nics:\n      count 8\n", "c.yaml:4:7: hardware.all.nics: ", "after 'count'?"),
        ("hardware: {all: {nics: {count 8}}}\n", "c.yaml:1:25: hardware.all.nics.count 8: no value", "after 'count'?"),
        ("hardware: {all: {nics: {count:8}}}\n", "c.yaml:1:25: hardware.all.nics.count:8: ", "space after the colon"),
    ],
)
def test_a_missing_colon(text: str, error: str, hint: str) -> None:
    Path("c.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(Path("c.yaml"))
    (shown,) = [mistake.show() for mistake in caught.value.mistakes if error in mistake.show()]
    assert shown.endswith(hint)


def test_what_was_wrong_before_the_syntax_error_is_told_too() -> None:
    with pytest.raises(ConfigError) as caught:
        source.parse(b"a: 1\na: 2\nb: [\n", "c.yaml")
    assert [it.message for it in caught.value.mistakes] == ["duplicate key", "a value is expected here"]
