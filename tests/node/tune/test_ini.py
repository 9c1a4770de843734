"""Files of sections and options."""

from brctl.node.tune import ini


def test_sections_and_options() -> None:
    text = "a=0\n[one]\n# c=1\n; d=1\n\n b = 2 = 3 \n[ two ]\nflag\nb=\n"
    assert ini.parse(text) == (
        ini.Entry("", "a", "0", 1),
        ini.Entry("one", "b", "2 = 3", 6),
        ini.Entry("two", "flag", "", 8),
        ini.Entry("two", "b", "", 9),
    )


def test_bytes_of_letters_are_no_blanks() -> None:
    """Of UTF-8 read as latin-1, where U+0085 and U+00A0 are blank to Python."""
    words = ("voil\u00e0", "\u0445")
    text = "[one]\nb={}\nc={}\x0b\n".format(*words).encode().decode("latin-1")
    values = [entry.value.encode("latin-1").decode() for entry in ini.parse(text)]
    assert values == list(words)
