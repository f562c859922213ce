"""What was worked out for the beginning of a list serves the longer one, and no other."""

from core.beginnings import Beginnings

A, B, C, D = ([letter] for letter in "abcd")


def test_a_list_that_begins_like_no_other_has_everything_to_do() -> None:
    known: Beginnings[str] = Beginnings()
    known.keep((A, B), "ab")
    assert known.longest((B, A), "") == (0, "")
    assert known.longest((A,), "") == (0, "")
    assert known.longest((), "") == (0, "")


def test_the_longest_beginning_is_found_whatever_came_first() -> None:
    for order in (((A,), (A, B)), ((A, B), (A,))):
        known: Beginnings[int] = Beginnings()
        for items in order:
            known.keep(items, len(items))
        assert known.longest((A, B, C), 0) == (2, 2)
        assert known.longest((A, D), 0) == (1, 1)


def test_equal_is_not_the_same() -> None:
    known: Beginnings[str] = Beginnings()
    known.keep((A, [1]), "one")
    assert known.longest((A, [1.0]), "") == (0, "")


def test_another_key_is_another_list() -> None:
    known: Beginnings[str] = Beginnings()
    known.keep((A,), "seen", key="be brief")
    assert known.longest((A, B), "", key="be long") == (0, "")
    assert known.longest((A, B), "", key="be brief") == (1, "seen")


def test_an_empty_list_may_be_kept() -> None:
    known: Beginnings[str] = Beginnings()
    known.keep((), "nothing")
    assert known.longest((A,), "") == (0, "")


def test_old_ones_make_room() -> None:
    known: Beginnings[str] = Beginnings()
    known.keep((A,), "old")
    for number in range(100):
        known.keep((B, number), "new")
    assert known.longest((A, B), "") == (0, "")
