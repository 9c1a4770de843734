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
