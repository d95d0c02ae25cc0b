"""The kinds of word problem. Each tells its story, asks its question and works it out in three to five steps."""

from __future__ import annotations

from collections.abc import Callable

from gdnbench.tiny_model.telling import Telling
from gdnbench.tiny_model.words import CROPS, FLOWERS, GOALS, HOLDERS, JOBS, PLACES

Story = Callable[[Telling], None]


def collection(t: Telling) -> None:
    """Things come and go."""
    who, things = t.person(), t.thing()
    have = t.number(12, 80)
    t.say(f"{who.name} has {have} {things}.", f"{who.name} keeps {have} {things} at home.")
    for _ in range(t.number(3, 4)):
        some = t.number(3, 40)
        if have > 150 or (have > some and t.chance(0.45)):
            t.say(
                f"{who.subject.title()} gives {some} to a friend.",
                f"{who.subject.title()} loses {some} of them.",
                f"Then {who.subject} sells {some} {things}.",
            )
            have = t.minus(have, some)
        elif have < 60 and t.chance(0.3):
            fold = t.number(2, 3)
            word = {2: "twice", 3: "three times"}[fold]
            t.say(f"A week later {who.subject} has {word} as many.")
            have = t.times(have, fold)
        else:
            t.say(
                f"{who.subject.title()} buys {some} more.",
                f"A friend gives {who.name} {some} {things}.",
                f"Then {who.subject} finds {some} more {things}.",
            )
            have = t.plus(have, some)
    t.say(f"How many {things} does {who.name} have now?", f"How many {things} are there in the end?")


def comparison(t: Telling) -> None:
    """Three people, each with more or fewer than somebody else; then all together, or the difference."""
    first, second, third, things = t.person(), t.person(), t.person(), t.thing()
    a = t.number(6, 40)
    t.say(f"{first.name} has {a} {things}.", f"{first.name} collects {a} {things}.")
    fold = t.number(2, 4)
    t.say(f"{second.name} has {fold} times as many {things} as {first.name}.")
    b = t.times(a, fold)
    base, owner = (a, first) if t.chance(0.5) else (b, second)
    more = t.number(3, 30)
    if more < base and t.chance(0.5):
        t.say(f"{third.name} has {more} fewer than {owner.name}.")
        c = t.minus(base, more)
    else:
        t.say(f"{third.name} has {more} more than {owner.name}.")
        c = t.plus(base, more)
    if base == b or t.chance(0.4):
        t.say(f"How many {things} do the three have together?", f"How many {things} is that in all?")
        t.plus(t.plus(a, b), c)
    elif b >= c:
        t.say(f"How many more {things} does {second.name} have than {third.name}?")
        t.minus(b, c)
    else:
        t.say(f"How many more {things} does {third.name} have than {second.name}?")
        t.minus(c, b)


def shopping(t: Telling) -> None:
    """Two kinds of things at a price, paid with a note; or what each of some friends pays."""
    who, one, other = t.person(), t.thing(), t.thing()
    n, price, m, cost = t.number(2, 12), t.number(2, 9), t.number(2, 9), t.number(2, 12)
    t.say(
        f"{who.name} buys {n} {one} for ${price} each and {m} {other} for ${cost} each.",
        f"At the shop {who.name} takes {n} {one} at ${price} each and adds {m} {other} at ${cost} each.",
    )
    total = t.plus(t.times(n, price), t.times(m, cost))
    if t.chance(0.3):
        off = t.number(2, 9)
        t.say(f"A coupon takes ${off} off.", f"The seller lowers the bill by ${off}.")
        total = t.minus(total, off)
    paid = (total // 100 + t.number(1, 3)) * 100
    t.say(f"{who.subject.title()} pays with ${paid}.", f"{who.subject.title()} hands over ${paid}.")
    t.say("How many dollars of change are due?", f"How much change in dollars does {who.name} get?")
    t.minus(paid, total)


def packing(t: Telling) -> None:
    """Full holders and loose things; some are taken, the rest goes into new holders."""
    who, things = t.person(), t.thing()
    holders = t.one_of(*HOLDERS)
    n, each, loose = t.number(3, 9), t.number(5, 20), t.number(3, 30)
    total = t.plus(t.times(n, each), loose)
    per = t.number(3, 9)
    taken = per * t.number(1, 9) + total % per
    while taken >= total:
        taken -= per
    t.say(
        f"{who.name} has {n} {holders} with {each} {things} in each, and {loose} loose ones.",
        f"There are {n} {holders} of {each} {things} and {loose} {things} more in {who.name}'s room.",
    )
    t.say(
        f"{taken} of the {things} are broken and thrown away.", f"{who.name} takes {taken} {things} out for a friend."
    )
    t.say(
        f"The rest is packed {per} to a bundle. How many bundles are there?",
        f"What is left is shared by {per} children. How many {things} does each child get?",
    )
    t.shared(t.minus(total, taken), per)


def wages(t: Telling) -> None:
    """Hours at a rate over days, less what is spent."""
    who, job = t.person(), t.one_of(*JOBS)
    hours, days, rate = t.number(2, 8), t.number(2, 6), t.number(5, 12)
    t.say(
        f"{who.name} {job} for {hours} hours a day and earns ${rate} an hour.",
        f"For ${rate} an hour {who.name} {job}, {hours} hours each day.",
    )
    t.say(f"{who.subject.title()} works {days} days.", f"This goes on for {days} days.")
    earned = t.times(t.times(hours, rate), days)
    spent = t.number(3, min(earned - 1, 60))
    if t.chance(0.5):
        t.say(f"Of this {who.subject} spends ${spent}.", f"A new coat costs {who.name} ${spent}.")
        t.say(f"How many dollars does {who.name} have left?")
        t.minus(earned, spent)
    else:
        t.say(f"The boss adds ${spent} at the end.", f"{who.name} also gets a gift of ${spent}.")
        t.say(f"How many dollars does {who.name} have in all?")
        t.plus(earned, spent)


def hens(t: Telling) -> None:
    """So many a day, some kept, the rest sold at a price, for some days."""
    who, things = t.person(), t.thing()
    made, price, days = t.number(12, 50), t.number(2, 5), t.number(2, 5)
    kept, given = t.number(2, made // 3), t.number(2, made // 3)
    t.say(f"{who.name} makes {made} {things} a day.", f"Every day {who.name} gets {made} new {things}.")
    t.say(
        f"{who.subject.title()} keeps {kept} and gives {given} to {who.possessive} sister.",
        f"{kept} are kept at home and {given} go to the school each day.",
    )
    t.say(f"{who.subject.title()} sells the rest for ${price} each.", f"The others are sold at ${price} apiece.")
    t.say(f"How many dollars does {who.name} earn in {days} days?", f"How much in dollars is that after {days} days?")
    t.times(t.times(t.minus(t.minus(made, kept), given), price), days)


def journey(t: Telling) -> None:
    """Miles a day on two stretches, and how far it still is."""
    who = t.person()
    fast, days, slow, more = t.number(8, 40), t.number(2, 6), t.number(5, 25), t.number(2, 6)
    t.say(
        f"{who.name} rides {fast} miles a day for {days} days.",
        f"For {days} days {who.name} drives {fast} miles a day.",
    )
    t.say(f"Then {who.subject} does {slow} miles a day for {more} days.")
    gone = t.plus(t.times(fast, days), t.times(slow, more))
    whole = gone + t.number(10, 150)
    t.say(f"The whole way is {whole} miles long.", f"{who.possessive.title()} goal is {whole} miles from home.")
    t.say("How many miles are left?", f"How many miles must {who.name} still go?")
    t.minus(whole, gone)


def bus(t: Telling) -> None:
    """People get on and off; then the fares."""
    vehicle = t.one_of("bus", "train", "boat", "tram")
    riders = t.number(15, 60)
    t.say(f"A {vehicle} starts with {riders} people.", f"{riders} people are on a {vehicle}.")
    for stop in ("first", "second")[: t.number(1, 2)]:
        off, on = t.number(2, min(12, riders - 2)), t.number(2, 20)
        t.say(f"At the {stop} stop {off} get off and {on} get on.", f"{off} leave and {on} come in at the {stop} stop.")
        riders = t.plus(t.minus(riders, off), on)
    fare = t.number(2, 5)
    t.say(f"Each rider left pays ${fare}.", f"Everyone on board now pays ${fare}.")
    t.say("How many dollars are paid?", "How much money in dollars is that?")
    t.times(riders, fare)


def garden(t: Telling) -> None:
    """Rows of two kinds of plants; some die, the others are sold or bundled."""
    who, one, other = t.person(), t.one_of(*CROPS), t.one_of(*FLOWERS)
    rows, each, more, per = t.number(3, 9), t.number(5, 20), t.number(3, 9), t.number(5, 20)
    t.say(
        f"{who.name} plants {rows} rows of {each} {one} and {more} rows of {per} {other}.",
        f"{who.name}'s garden has {rows} rows with {each} {one} each and {more} rows with {per} {other} each.",
    )
    total = t.plus(t.times(rows, each), t.times(more, per))
    dead = t.number(3, min(total - 2, 40))
    t.say(f"{dead} plants die.", f"Snails eat {dead} of the plants.")
    t.say("How many plants remain?", f"How many plants does {who.name} still have?")
    t.minus(total, dead)


def saving(t: Telling) -> None:
    """Money put by each week, a gift, something spent, and how much is missing for a wish."""
    who, goal = t.person(), t.one_of(*GOALS)
    weekly, weeks, gift = t.number(5, 20), t.number(3, 9), t.number(10, 60)
    have = t.plus(t.times(weekly, weeks), gift)
    spent = t.number(4, min(have - 1, 40))
    have = t.minus(have, spent)
    price = have + t.number(10, 150)
    t.say(
        f"{who.name} wants {goal} that costs ${price}.", f"{goal.capitalize()} for ${price} is what {who.name} wants."
    )
    t.say(f"{who.subject.title()} saves ${weekly} a week for {weeks} weeks.")
    t.say(
        f"{who.possessive.title()} uncle gives {who.name} ${gift}.",
        f"For {who.possessive} birthday {who.subject} gets ${gift}.",
    )
    t.say(f"{who.subject.title()} spends ${spent} on a meal.", f"Then {who.subject} buys a book for ${spent}.")
    t.say(f"How many more dollars does {who.name} need?", "How many dollars are still missing?")
    t.minus(price, have)


def reading(t: Telling) -> None:
    """Pages read at two speeds; the rest in equal parts."""
    who = t.person()
    first, days, second, more = t.number(8, 30), t.number(2, 6), t.number(8, 30), t.number(2, 6)
    done = t.plus(t.times(first, days), t.times(second, more))
    nights, nightly = t.number(2, 9), t.number(4, 20)
    pages = done + nights * nightly
    t.say(f"{who.name} reads a book of {pages} pages.", f"The book that {who.name} reads has {pages} pages.")
    t.say(f"{who.subject.title()} reads {first} pages a day for {days} days and {second} a day for {more} days.")
    t.say(
        f"The rest takes {nights} days, the same each day. How many pages a day is that?",
        f"How many pages a day must {who.subject} read to end it in {nights} more days?",
    )
    t.shared(t.minus(pages, done), nights)


def party(t: Telling) -> None:
    """Guests, what each gets, what is there already, and what the rest costs."""
    who, things = t.person(), t.thing()
    girls, boys, each, price = t.number(4, 20), t.number(4, 20), t.number(2, 4), t.number(2, 5)
    place = t.one_of(*PLACES)
    t.say(
        f"{girls} girls and {boys} boys come to {who.name}'s party.",
        f"{who.name} takes {girls} girls and {boys} boys to the {place}.",
    )
    t.say(f"Each child gets {each} {things}.", f"{who.name} wants {each} {things} for each child.")
    needed = t.times(t.plus(girls, boys), each)
    there = t.number(3, min(needed - 2, 30))
    t.say(f"{there} {things} are there already.", f"{who.subject.title()} has {there} {things} in a drawer.")
    t.say(f"The others cost ${price} each. How many dollars must {who.name} pay?")
    t.times(t.minus(needed, there), price)


STORIES: tuple[Story, ...] = (
    collection, comparison, shopping, packing, wages, hens, journey, bus, garden, saving, reading, party,
)  # fmt: skip
