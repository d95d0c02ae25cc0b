"""The people, things and places that word problems are told with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Person:
    name: str
    subject: str
    """`she` or `he`."""
    possessive: str
    """`her` or `his`."""


def _each(text: str) -> list[str]:
    """The entries of a list that is written with commas."""
    return [" ".join(entry.split()) for entry in text.split(",")]


_SHE = _each("""
    Ada, Alma, Anna, Bela, Cara, Clara, Dora, Elsa, Emma, Flora, Greta, Hana, Ida, Ines, Ivy, Jana, Julia, Kira, Lena,
    Lila, Lucy, Maya, Mila, Mona, Nina, Nora, Olga, Paula, Rosa, Ruth, Sara, Sofia, Tara, Uma, Vera, Wendy, Yara, Zoe
""")
_HE = _each("""
    Adam, Ali, Ben, Boris, Carl, Dan, David, Emil, Eric, Felix, Finn, Georg, Hugo, Igor, Ivan, Jack, Jonas, Karl, Leo,
    Liam, Luca, Mark, Max, Nico, Noah, Omar, Oscar, Otto, Paul, Peter, Ravi, Sam, Simon, Theo, Tom, Victor, Will, Yusuf
""")

PEOPLE = [Person(name, "she", "her") for name in _SHE] + [Person(name, "he", "his") for name in _HE]

THINGS = _each("""
    apples, badges, balloons, beads, books, bottles, buttons, candles, cards, coins, cookies, cups, flags, flowers,
    kites, lemons, marbles, masks, muffins, nuts, oranges, pears, pencils, pens, plums, postcards, puzzles, ribbons,
    rings, rocks, seeds, shells, spoons, stamps, stickers, tickets, toys
""")

HOLDERS = _each("bags, baskets, boxes, cases, crates, jars, packs, shelves, trays")

CROPS = _each("beans, cabbages, carrots, leeks, onions, peppers")
FLOWERS = _each("daisies, lilies, pansies, roses, tulips")

GOALS = _each("a bicycle, a camera, a desk, a drum, a guitar, a kayak, a lamp, a phone, a scooter, a tent")

JOBS = _each("""
    bakes bread, cleans windows, cuts hair, delivers parcels, mows lawns, paints fences, teaches chess, walks dogs
""")

PLACES = _each("bakery, beach, cinema, library, market, museum, park, school, shop, station")
