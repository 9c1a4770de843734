from brctl.node.monitor.clock import STEP_S, Clock


def test_a_clock_that_is_set_is_told_once_and_by_how_much() -> None:
    clock, found = Clock(), []
    for at, at_s in ((1000, 1), (1005, 6), (8210, 11), (8215, 16), (4615, 16), (4620, 21)):
        found.append(clock.stepped(at, at_s))
    assert found == [0, 0, 7200, 0, -3600, 0]


def test_what_comes_late_is_no_step_and_adds_up_to_none() -> None:
    clock = Clock()
    assert [clock.stepped(1000 + 5 * i, 5 * i + i % 2 * (STEP_S - 1)) for i in range(50)] == [0] * 50
    assert clock.stepped(1250 + STEP_S, 250) == STEP_S


def test_many_small_steps_are_a_great_one() -> None:
    clock = Clock()
    assert [clock.stepped(1000 + 8 * i, 5 * i) for i in range(5)] == [0, 0, 6, 0, 6]
