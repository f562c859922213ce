"""What a recap has lost is found, and what it only says in other words is not reported."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.fidelity import nodes_of, tally
from core import Config, Session
from core.fidelity import FACTS, answered, fidelity_call, missing, overlap, with_line
from core.fidelity.mention import same
from core.fidelity.notation import mentions
from core.types import Text, text_of

CONFIG = Config(provider="echo", model="m")
SESSION = Session(id="s", title="", config=CONFIG, created_at="", updated_at="")


def lost(recap: str, *texts: str) -> list[tuple[str, str]]:
    """What is missing of messages by person and model in turn."""
    roles = ("user", "assistant")
    told = [{"role": roles[n % 2], "text": text} for n, text in enumerate(texts)]
    return [(one.kind, one.text) for one in missing(nodes_of(told), recap)]


# --- notations -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,200", "1200"),
        ("1.200", "1200"),
        ("1 200", "1,200"),
        ("1'200", "1200"),
        ("1.200.000", "1.2 million"),
        ("3.5k", "3500"),
        ("3,5k", "3.5 thousand"),
        ("2 Mio.", "2000000"),
        ("12,5", "12.5"),
        ("12.50", "12.5"),
        ("$1,200", "1200 dollars"),
        ("1.200,50 €", "€1,200.50"),
        ("three", "3"),
        ("twenty-five", "25"),
        ("two hundred and fifty", "250"),
        ("a dozen", "12"),
        ("drei", "3"),
        ("20%", "20 percent"),
        ("20 %", "twenty percent"),
        ("20 per cent", "20 Prozent"),
        ("3 March 2026", "2026-03-03"),
        ("March 3rd", "3 March"),
        ("March 3, 2026", "3.3.2026"),
        ("3rd of March", "3. März"),
        ("3 mars 2026", "3 de marzo de 2026"),
        ("le 1er mai", "1 May"),
        ("Dec 24", "24 December 2026"),
        ("March 2026", "3 March 2026"),
        ("04/05/2026", "5 April 2026"),
        ("04/05/2026", "4 May 2026"),
        ("2:30 pm", "14:30"),
        ("9am", "9:00"),
        ("14 Uhr", "2 pm"),
        ("Friday", "freitags"),
    ],
)
def test_two_notations_of_one_thing_are_the_same(one: str, other: str) -> None:
    (a,), (b,) = mentions(one), mentions(other)
    assert same(a, b)
    assert same(b, a)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,200", "1,300"),
        ("20%", "20"),
        ("3.5k", "3.5"),
        ("3 March 2026", "3 March 2025"),
        ("3 March", "4 March"),
        ("2:30 am", "14:30"),
        ("Friday", "Monday"),
        ("3", "March 3"),
    ],
)
def test_different_things_stay_different(one: str, other: str) -> None:
    (a,), (b,) = mentions(one), mentions(other)
    assert not same(a, b)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("3–5 June", ["date", "date"]),
        ("June 3 to 5", ["date", "date"]),
        ("We may march on", []),
        ("in May and in March", ["date", "date"]),
        ("10-15%", ["number", "number"]),
        ("v2.3.1", []),
        ("from 9am to 5pm", ["time", "time"]),
    ],
)
def test_what_a_text_mentions(text: str, found: list[str]) -> None:
    assert [one.kind for one in mentions(text)] == found


@given(value=st.integers(1, 10**9))
def test_every_grouping_of_digits_is_read(value: int) -> None:
    plain = mentions(str(value))
    for mark in (",", ".", "'", "\u202f"):
        (grouped,) = mentions(f"{value:,}".replace(",", mark))
        assert same(plain[0], grouped)


@given(text=st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for one in mentions(text):
        assert 0 <= one.start < one.end <= len(text)
    missing(nodes_of([{"role": "user", "text": text}]), text[:50])


# --- what is lost ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "said", "recap"),
    [
        ("number", "$1,200", "The budget is $1,200 for the trip.", "Trip, with a budget."),
        ("number", "48", "We expect 48 guests.", "A party with guests."),
        ("number", "15%", "Margins fell by 15% last year.", "Margins fell by 15 points."),
        ("number", "three", "We have three weeks.", "We have some weeks."),
        ("number", "90", "It takes 90 minutes.", "It takes 90 people."),
        ("date", "3 March 2026", "The launch is on 3 March 2026.", "The launch is in spring."),
        ("date", "Friday", "I send it to the board on Friday.", "I send it to the board."),
        ("date", "14:30", "The call is at 14:30.", "There is a call."),
        ("name", "Anna Schmidt", "My boss is Anna Schmidt.", "The boss reads it."),
        ("name", "Lisbon", "We fly to Lisbon.", "We fly."),
        ("name", "ACME-4711", "The ticket is ACME-4711.", "There is a ticket."),
        ("name", "config.yaml", "It is read from config.yaml there.", "It is read from a file."),
        ("name", "jo@example.org", "Write to jo@example.org then.", "Write by mail."),
        ("quote", "Wake up slow", "The slogan is “Wake up slow”.", "There is a slogan."),
        ("requirement", "It must be vegan", "It must be vegan.", "A dinner."),
        ("requirement", "Avoid jargon", "Avoid jargon.", "A text for experts."),
        (
            "requirement",
            "No more than 300 words",
            "No more than 300 words.",
            "A text for experts.",
        ),
        ("requirement", "Don't mention pricing", "Don't mention pricing.", "A page for buyers."),
    ],
)
def test_a_loss_is_found(kind: str, text: str, said: str, recap: str) -> None:
    assert (kind, text) in lost(recap, said)


@pytest.mark.parametrize(
    ("said", "recap"),
    [
        ("The budget is $1,200.", "Budget: 1.200 USD"),
        ("We have three weeks.", "3 weeks"),
        ("Margins fell by 15%.", "Margins: minus 15 percent"),
        ("The launch is on 3 March 2026.", "Launch: 2026-03-03"),
        ("My boss is Anna Schmidt.", "The boss, Schmidt, reads it."),
        ("My boss is José Núñez.", "Boss: Jose Nunez"),
        ("The slogan is “Wake up slow”.", "Slogan: 'Wake up slow'"),
        ("The slogan is «Wake up slow».", "Slogan: Wake up slow."),
        ("It must be vegan and cheap.", "Requirements: vegan, cheap"),
        ("Avoid jargon, and keep it under 300 words.", "No jargon; at most 300 words."),
        ("Please don't mention pricing anywhere.", "Pricing is not to be mentioned."),
        ("Should we add a chart?", "A report."),
        ("I don't know yet.", "Nothing is decided."),
        ("Keep it short.", "Style: concise."),
        ("Give me 5 ideas for a name.", "The name is open."),
        ("Let's take option 2.", "The second way was chosen."),
        ("1. first\n2. second\n3. third", "First, second and third."),
        ("Great. Thanks! Perfect.", "All well."),
        ("The support is there 24/7.", "Support is always there."),
        ("It lasts 90 minutes.", "Length: 1.5 hours"),
        ("It takes half an hour.", "30 minutes"),
        ("We thought of Rome or Oslo.", "The place is open."),
        ("Der Text handelt von einem Hof mit Kühen, und die Leser sind Kinder.", "Text für Kinder"),
        ("It prints this:\n```\nerror 4711 at Foo\n```", "An error is printed."),
        ("Would 5,000 be enough?", "The budget is open."),
        ("What about Hi Claude, thanks Claude!", "Nothing."),
    ],
)
def test_what_is_said_in_other_words_is_no_loss(said: str, recap: str) -> None:
    assert lost(recap, said) == []


@pytest.mark.parametrize(
    ("texts", "recap"),
    [
        (("The budget is 1,200.", "Fine.", "Make the budget 1,500 instead."), "Budget: 1,500"),
        (("We are 40 guests.", "Fine.", "Actually we are 55 guests."), "55 guests"),
        (("It is on 3 May.", "Fine.", "Sorry, it moved to 10 May."), "On 10 May"),
        (("At most 500 words.", "Fine.", "Change that to 700 words."), "At most 700 words"),
        (("Ask Bob Miller.", "Fine.", "Ask Eva Kern instead of Bob Miller."), "Ask Kern."),
        (("It must have a chart.", "Fine.", "No need for a chart any more."), "A report."),
        (("Push it from 1 May to 8 May.", "Done."), "On 8 May"),
        (("Budget: $8,000.", "Fine.", "The budget is $10,000."), "Budget: $10,000"),
        (("We are 60 guests.", "Fine.", "Now 52 guests come."), "52 guests"),
        (("Come on Tuesday.", "Fine.", "Tuesday doesn't work, Thursday is better."), "Thursday"),
        (("A 20-page report.", "Fine.", "12 pages are enough."), "A report of 12 pages"),
        (("Send it to Kim.", "Fine.", "Scratch that, send it to Lee."), "Send it to Lee"),
        (("We meet at Hotel Astoria.", "Fine.", "Hotel Astoria is full."), "The place is open"),
        (("No more than $50.", "Fine.", "I can go up to $75."), "Up to $75"),
    ],
)
def test_what_was_corrected_is_no_loss(texts: tuple[str, ...], recap: str) -> None:
    assert lost(recap, *texts) == []


def test_the_correction_itself_can_be_lost() -> None:
    assert ("number", "1,500") in lost(
        "A budget.", "The budget is 1,200.", "Fine.", "Make the budget 1,500 instead."
    )


def test_a_models_chatter_is_no_fact_but_what_it_settled_is() -> None:
    chatter = "Here are 3 ideas: 1. Rome, 2. Oslo. Studies say 73% agree, as Kim Larsen wrote."
    assert lost("A trip.", "Where could a trip go?", chatter) == []
    total = "Flights and hotel come to 1,340 EUR in total."
    assert lost("A trip.", "How much is a trip?", total) == []
    assert lost("A trip.", "How much?", total, "Agreed.") == [("number", "1,340 EUR")]
    listed = "Some ideas:\n1. “Slow days”\n2. “Far out”\n3. “Off we go”"
    assert lost("A trip.", "A title?", listed, "I like the second one.") == [("quote", "Far out")]


def test_a_lost_requirement_says_its_figure_too() -> None:
    assert lost("A text.", "Keep it under 300 words.") == [
        ("requirement", "Keep it under 300 words")
    ]


def test_a_finding_leads_to_its_message() -> None:
    told = [
        {"role": "user", "text": "Plan a dinner."},
        {"role": "assistant", "text": "For whom?"},
        {"role": "user", "text": "It is for 12 people. The host is Mia Wong."},
    ]
    one, two = missing(nodes_of(told), "A dinner.")
    assert (one.node_id, one.turn, one.snippet) == ("2", 2, "It is for 12 people.")
    assert (two.kind, two.text, two.line) == ("name", "Mia Wong", "The host is Mia Wong.")


def test_the_check_is_deterministic_and_a_whole_recap_loses_nothing() -> None:
    texts = ("Budget 4,500 EUR by 12 May. Must be vegan. Ask Kim Lee about “Plan B”.", "Fine.")
    whole = "\n".join(texts)
    assert lost(whole, *texts) == []
    assert lost("x", *texts) == lost("x", *texts) != []


# --- adding back -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recap", "after"),
    [
        ("Goal: x", f"Goal: x\n\n{FACTS}:\n- new"),
        ("", f"{FACTS}:\n- new"),
        (f"{FACTS}:\n- old", f"{FACTS}:\n- old\n- new"),
        (f"{FACTS}: old", f"{FACTS}: old\n- new"),
        (
            f"## {FACTS}\n- old\n\n## Current draft\nText",
            f"## {FACTS}\n- old\n- new\n\n## Current draft\nText",
        ),
        (
            f"**{FACTS}**\n- old\n\nCurrent draft: text",
            f"**{FACTS}**\n- old\n- new\n\nCurrent draft: text",
        ),
    ],
)
def test_a_line_is_added_under_its_heading(recap: str, after: str) -> None:
    assert with_line(recap, " new ") == after


@given(recap=st.text(max_size=300), line=st.text(alphabet="abc 1", min_size=1, max_size=30))
def test_adding_a_line_loses_nothing(recap: str, line: str) -> None:
    after = with_line(recap, line)
    assert " ".join(line.split()) in after
    for word in recap.split():
        assert word in after


def test_what_was_added_back_is_missing_no_longer() -> None:
    told = nodes_of([{"role": "user", "text": "Budget 4,500 EUR. It must be vegan. Ask Kim Lee."}])
    recap = "A dinner."
    for finding in missing(told, recap):
        recap = with_line(recap, finding.line)
    assert missing(told, recap) == ()


# --- a model's findings ----------------------------------------------------------------------

TOLD = nodes_of(
    [
        {"role": "user", "text": "The budget is 4,500 EUR."},
        {"role": "assistant", "text": "Noted."},
        {"role": "user", "text": "Nobody eats nuts at our table."},
    ]
)


@pytest.mark.parametrize(
    "answer",
    [
        '[{"kind": "requirement", "text": "Nobody eats nuts", "turn": 2}]',
        '```json\n[{"kind": "requirements", "text": "Nobody eats nuts", "turn": 2}]\n```',
        'Here it is: {"missing": [{"type": "requirement", "text": "nobody eats nuts"}]} Bye.',
        '["Nobody eats nuts"]',
        '{"kind": "requirement", "text": "Nobody eats nuts", "turn": "two"}',
    ],
)
def test_a_models_answer_is_read_however_it_is_wrapped(answer: str) -> None:
    found = answered(answer, TOLD, "A dinner for 4,500 EUR.")
    assert found is not None
    assert [(one.kind, one.text.casefold(), one.turn) for one in found] == [
        ("requirement", "nobody eats nuts", 2)
    ]
    assert found[0].by_model


@pytest.mark.parametrize(
    "answer",
    ['[{"text": "They love cheese fondue"}]', "[]", '[{"text": "4,500 EUR"}]', '[{"x": 1}]'],
)
def test_what_was_never_said_or_is_held_already_is_not_believed(answer: str) -> None:
    assert answered(answer, TOLD, "A dinner for 4,500 EUR.") == ()


@pytest.mark.parametrize("answer", ["", "Nothing is missing.", "[broken", "{1: 2}"])
def test_an_answer_without_json_is_said_so(answer: str) -> None:
    assert answered(answer, TOLD, "A dinner.") is None


@given(answer=st.text(max_size=200))
def test_any_answer_of_a_model_can_be_read(answer: str) -> None:
    answered(answer, TOLD, "A dinner.")


def test_the_request_holds_the_messages_and_the_recap() -> None:
    call = fidelity_call(TOLD, "My recap.", CONFIG, SESSION)
    assert [text_of(m.parts) for m in call.messages[:-1]] == [node.text for node in TOLD]
    last = call.messages[-1].parts[0]
    assert isinstance(last, Text)
    assert last.text.endswith("The recap:\n\nMy recap.")


# --- the bench -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same_thing"),
    [
        ("1,200", "$1200", True),
        ("Anna Schmidt", "Schmidt", True),
        ("Keep it under 300 words", "300", True),
        ("12", "120", False),
        ("", "x", False),
        ("3 March", "2026-03-03", True),
    ],
)
def test_overlap(one: str, other: str, same_thing: bool) -> None:
    assert overlap(one, other) is same_thing


def test_the_tally_counts() -> None:
    def item(kind: str, recap: str, *planted: tuple[str, str]) -> dict[str, Any]:
        told = [{"role": "user", "text": "The budget is 4,500 EUR. We fly to Lisbon."}]
        losses = [{"text": text, "kind": name} for text, name in planted]
        return {"id": "x", "kind": kind, "messages": told, "recap": recap, "lost": losses}

    counts = tally(
        [
            item("faithful", "Lisbon, 4.500 EUR"),
            item("lossy", "Lisbon", ("4500", "number")),
            item("lossy", "A trip", ("Lisbon", "name")),
        ]
    )
    assert (counts.quiet, counts.faithful, counts.recall) == (1, 1, 1.0)
    assert (counts.true, counts.alarms) == (2, 1)
