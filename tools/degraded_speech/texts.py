"""Texts that read sentences lack: letters, digits, names, dates, times, money, commands and short answers.

All are made by rules from lists that were written for this; references are words as they are spoken.
"""

from __future__ import annotations

import string
from collections.abc import Callable

import numpy as np

Random = np.random.Generator


def _options(text: str) -> list[str]:
    return [" ".join(option.split()) for option in text.split("|")]


_FIRST = """
    aisha alan amelia andrew anna arthur ben carla cheng chloe colin daniela david diego ellen elif emma farid
    fiona george grace hannah hassan helen hugo ibrahim ingrid ivan jack jana joanna john jorge julia kate kenji
    laura lena leo linda lucas maria mark marta mei michael mina mohammed nadia nina oliver olga omar paul peter
    priya rachel ravi rosa ruth sam sara simon sofia stefan susan theo thomas uma victor wanda william yuki zoe
""".split()
_LAST = """
    adams ahmed allen anderson baker bauer bell brown carter chen clark cohen cooper costa davies diaz edwards
    evans fischer foster garcia gonzalez gray green hall harris hughes hussein ito jackson jensen johnson jones
    kaya kelly khan kim kowalski lee lewis lopez martin meyer miller moore morgan murphy nguyen novak okafor
    olsen parker patel perez phillips popov reed rossi russo sanchez schmidt scott sharma silva singh smith
    stewart suzuki taylor turner walker wang watson white wilson wood wright yilmaz young zhang
""".split()
_PLACES = """
    berlin boston bristol cairo cardiff chicago dallas delhi denver dublin geneva glasgow houston istanbul
    karachi lagos leeds lima lisbon london madrid manila melbourne milan montreal mumbai nairobi oslo oxford
    paris perth prague rome seattle seoul sydney tokyo toronto vienna warsaw
""".split()
_STREETS = "street road avenue lane drive square court close".split()
_MONTHS = "january february march april may june july august september october november december".split()
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
""".split()
_TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = """
    zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
    fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth
""".split()
_MONEY = (("pound", "pence"), ("dollar", "cents"), ("euro", "cents"))
_COMMANDS = _options("""
    turn on the lights | turn off the {thing} | turn up the {thing} | set a timer for {n} minutes | stop | pause |
    play the next song | go back | call {first} | call {first} {last} | send a message to {first} |
    open the {thing} | close the {thing} | volume {n} | set the temperature to {n} degrees | wake me up at {n} |
    add milk to the shopping list | what is the weather in {place} | navigate to {place} | cancel | repeat that |
    read my messages | start recording | scroll down | select all | delete the last word | new paragraph |
    save the file | mute | skip this one | remind me on {day} | lock the {thing} | show me flights to {place}
""")
_THINGS = "radio television window door heating kitchen light blinds camera alarm garage fan".split()
_ANSWERS = _options("""
    yes | no | maybe | i think so | not yet | of course | i don't know | all right | no thank you | yes please |
    that is correct | that is wrong | both of them | neither | the first one | the second one | in the morning |
    next {day} | {n} of them | about {n} | {place} | with {first} | never | sometimes | sorry | hello |
    good morning | good evening | goodbye | okay | exactly | i am not sure | can you say that again |
    just a moment | speaking | this is {first} | {first} {last}
""")
_SPELLED = _options("""
    {word} that is {letters} | {letters} | my name is {word} {letters} | it is spelled {letters} |
    {letters} as in {word}
""")


def cardinal(number: int) -> str:
    """A number below a million in words."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        return f"{_TENS[number // 10]} {_ONES[number % 10]}" if number % 10 else _TENS[number // 10]
    unit, word = (100, "hundred") if number < 1000 else (1000, "thousand")
    rest = number % unit
    link = " and " if rest and rest < 100 else " "
    return f"{cardinal(number // unit)} {word}" + (f"{link}{cardinal(rest)}" if rest else "")


def ordinal(number: int) -> str:
    """first, second, ... up to ninety ninth."""
    if number < 20:
        return _ORDINALS[number]
    tens, ones = divmod(number, 10)
    return f"{_TENS[tens]} {_ORDINALS[ones]}" if ones else f"{_TENS[tens][:-1]}ieth"


def year(number: int) -> str:
    """A year as people say it."""
    if 2000 <= number < 2010:
        return cardinal(number)
    century, rest = divmod(number, 100)
    return f"{cardinal(century)} " + (cardinal(rest) if rest > 9 else f"oh {_ONES[rest]}" if rest else "hundred")


def one_of(random: Random, choices: list[str]) -> str:
    """Any of these."""
    return choices[int(random.integers(len(choices)))]


def letters(random: Random) -> str:
    """Letters: an abbreviation, a registration with digits, or a spelled name."""
    kind = int(random.integers(3))
    if kind == 0:
        return " ".join(random.choice(list(string.ascii_lowercase), int(random.integers(2, 7))))
    if kind == 1:
        symbols = random.choice([*string.ascii_lowercase, *_ONES[:10]], int(random.integers(4, 9)))
        return " ".join(symbols)
    word = one_of(random, _FIRST + _LAST + _PLACES)
    return one_of(random, _SPELLED).format(word=word, letters=" ".join(word))


def digits(random: Random) -> str:
    """Digits one by one, or in pairs and threes as numbers."""
    if random.random() < 0.7:
        zero = one_of(random, ["zero", "oh"])
        drawn = random.integers(10, size=int(random.integers(2, 9))).tolist()
        return " ".join(_ONES[digit] if digit else zero for digit in drawn)
    return " ".join(cardinal(int(random.integers(10, 1000))) for _ in range(int(random.integers(1, 4))))


def telephone_number(random: Random) -> str:
    """Seven to eleven digits, some of them doubled as people say them."""
    drawn = random.integers(10, size=int(random.integers(7, 12))).tolist()
    words, at, double = [], 0, random.random() < 0.5
    while at < len(drawn):
        is_double = double and at + 1 < len(drawn) and drawn[at] == drawn[at + 1]
        words.append(("double " if is_double else "") + ("oh" if drawn[at] == 0 else _ONES[drawn[at]]))
        at += 2 if is_double else 1
    prefix = one_of(random, ["", "", "my number is ", "call me on ", "plus four four "])
    return prefix + " ".join(words)


def name(random: Random) -> str:
    """A person, or an address."""
    first, last = one_of(random, _FIRST), one_of(random, _LAST)
    if random.random() < 0.6:
        return one_of(random, [f"{first} {last}", f"doctor {last}", f"my name is {first} {last}", f"this is {first}"])
    house, street = cardinal(int(random.integers(1, 200))), f"{one_of(random, _LAST)} {one_of(random, _STREETS)}"
    return f"{house} {street} {one_of(random, _PLACES)}"


def date(random: Random) -> str:
    """A day, with or without a year or a weekday."""
    day, month = ordinal(int(random.integers(1, 29))), one_of(random, _MONTHS)
    text = one_of(random, [f"the {day} of {month}", f"{month} {day}", f"{month} the {day}"])
    extra = int(random.integers(3))
    if extra == 0:
        return f"{text} {year(int(random.integers(1900, 2030)))}"
    return f"{one_of(random, _DAYS)} {text}" if extra == 1 else text


def time(random: Random) -> str:
    """A time of day."""
    hour, minute = cardinal(int(random.integers(1, 13))), cardinal(int(random.integers(2, 12)) * 5)
    before, half = one_of(random, ["five", "ten", "quarter", "twenty"]), one_of(random, ["a m", "p m"])
    sides = [f"{before} past {hour}", f"{before} to {hour}", f"half past {hour}"]
    text = one_of(random, [f"{hour} {minute}", *sides, f"{hour} o'clock", f"{hour} {half}"])
    return one_of(random, ["", "at ", "it is ", "see you at "]) + text


def money(random: Random) -> str:
    """An amount of money."""
    whole, part = int(random.integers(1, 2000)), int(random.integers(5, 100))
    unit, small = _MONEY[int(random.integers(len(_MONEY)))]
    text = f"{cardinal(whole)} {unit}{'s' if whole > 1 else ''}"
    if random.random() < 0.5:
        return text
    return f"{text} {one_of(random, ['', 'and '])}{cardinal(part)}" + one_of(random, ["", f" {small}"])


def _filled(random: Random, patterns: list[str]) -> str:
    lists = {"first": _FIRST, "last": _LAST, "place": _PLACES, "day": _DAYS, "thing": _THINGS}
    drawn = {key: one_of(random, words) for key, words in lists.items()}
    return one_of(random, patterns).format(**drawn, n=cardinal(int(random.integers(2, 60))))


def command(random: Random) -> str:
    """What people say to machines."""
    return _filled(random, _COMMANDS)


def answer(random: Random) -> str:
    """A few words, as in a conversation."""
    return _filled(random, _ANSWERS)


TEXTS: dict[str, Callable[[Random], str]] = {
    "letters": letters, "digits": digits, "phone": telephone_number, "name": name, "date": date, "time": time,
    "money": money, "command": command, "answer": answer,
}  # fmt: skip
