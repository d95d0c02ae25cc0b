"""What the generated conversations are told with: word lists and sentence patterns of ours."""

from __future__ import annotations


def _each(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WORDS = {
    "thing": _each("""
        bridge garden kitchen library market mountain office river school station street theatre village window
        letter picture machine engine recipe story budget contract meeting lesson journey question answer method
        number pattern report schedule signal system table network program model database container package
        bottle ticket lantern basket harbour meadow orchard tower valley castle forest island museum bakery
        piano violin camera compass telescope notebook calendar blanket jacket umbrella suitcase ladder
    """),
    "person": _each("""
        teacher doctor farmer painter sailor writer driver nurse engineer baker student neighbour manager visitor
        child friend stranger musician gardener carpenter librarian captain journalist designer scientist waiter
    """),
    "kind": _each("""
        small large quiet bright old new narrow heavy simple careful patient curious useful broken golden wooden
        distant early modern ancient gentle clever busy empty familiar famous honest hidden local plain rapid
        serious silent strong sudden warm wide young public private common rare
    """),
    "does": _each("""
        builds carries checks cleans counts describes draws explains finds follows keeps leaves measures opens
        paints plans prepares reads remembers repairs sells studies visits watches writes improves compares
        changes collects chooses moves shares supports
    """),
    "how": _each("slowly quickly carefully often rarely gladly again together alone early quietly well"),
    "where": (
        *("in the morning", "after the rain", "behind the house", "across the field", "near the coast", "on the hill"),
        *(
            "under the old roof",
            "beside the road",
            "during the winter",
            "before the evening",
            "at the edge of the town",
        ),
        *("for the first time", "without any map", "with great care", "between two meetings", "in a few steps"),
    ),
}
"""By what a slot of a pattern asks for."""

SENTENCES = (
    "The {kind} {person} {does} the {thing} {where} .",
    "{where} , the {person} {how} {does} every {kind} {thing} .",
    "If the {thing} is {kind} , the {person} {does} it {how} .",
    "There are {kind} reasons why the {thing} {does} nothing {where} .",
    "No {person} {does} the {thing} as {how} as this {kind} {person} .",
    "It is the {thing} , not the {thing} , that the {person} {does} {where} .",
    "This {kind} {thing} and that {kind} {thing} stand {where} .",
    "However , the {person} {how} {does} one {thing} and then the next .",
)
OPENINGS = (
    "Explain how the {person} {does} this {kind} {thing} {where} .",
    "Why does the {thing} look so {kind} {where} ?",
    "Write some {kind} story about the {person} and the {thing} .",
    "What would the {kind} {person} do with the {thing} {where} ?",
    "Compare the {kind} {thing} with the {kind} {thing} .",
    "Give me some {kind} ideas for the {thing} {where} .",
    "Summarise this : the {person} {does} the {thing} {where} .",
)
