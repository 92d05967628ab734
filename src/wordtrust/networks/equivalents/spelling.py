"""British and American spelling: the American form of a word, by rules with exceptions.

Only what is read alike is equated: `colour` and `color`, not `towards` and `toward` or `learnt` and `learned`. A rule
may make something that is no word (`clockwize`): that harms nobody unless another word is written so, and those are
exceptions. Stems that a rule needs are listed.
"""

from __future__ import annotations

import re
from functools import lru_cache

_OUR = """
arb ard arm behavi cand clam col demean enam endeav fav ferv flav glam harb hon hum lab misdemean neighb od parl
ranc rig rum sav savi splend succ tum val vap vig
""".split()
_LL = """
barrel bedevil bevel cancel carol channel chisel counsel dial devil dishevel drivel duel enamel equal fuel funnel
gravel grovel initial jewel kennel label level libel marshal marvel medal metal model panel parcel pedal pencil
petal pummel quarrel rival shovel shrivel signal snivel snorkel spiral stencil swivel symbol tassel total towel
travel trowel tunnel unravel victual yodel
""".split()
_RE = """
calib cent fib goit lit lust maneuv meag met mit och reconnoit sab scept sepulch somb spect theat
""".split()
_OGUE = "anal catal dial epil monol prol".split()
_STEMS = {  # the beginning of a word, and how it begins in American
    "aesth": "esth", "anaem": "anem", "anaesth": "anesth", "archaeo": "archeo", "artefact": "artifact",
    "chequer": "checker", "cosie": "cozie", "defence": "defense", "encyclopaed": "encycloped",
    "enrolment": "enrollment", "faec": "fec", "foet": "fet", "fulfilment": "fulfillment", "gynaec": "gynec",
    "haem": "hem", "instalment": "installment", "leukaem": "leukem", "licence": "license", "licenced": "licensed",
    "manoeuv": "maneuv", "mediaev": "mediev", "mould": "mold", "moult": "molt", "moustach": "mustach",
    "oesoph": "esoph", "oestro": "estro", "offence": "offense", "orthopaed": "orthoped", "paediat": "pediat",
    "palaeo": "paleo", "plough": "plow", "practis": "practic", "pretence": "pretense", "pyjama": "pajama",
    "sceptic": "skeptic", "skilful": "skillful", "smoulder": "smolder", "sulph": "sulf",
    "tranquillis": "tranquiliz", "tranquilliz": "tranquiliz", "wilful": "willful", "woollen": "woolen",
    "worshipp": "worship", "yoghurt": "yogurt", "kidnapp": "kidnap", "judgement": "judgment",
    "acknowledgement": "acknowledgment", "lodgement": "lodgment", "abridgement": "abridgment", "ageing": "aging",
    "likeable": "likable", "sizeable": "sizable", "loveable": "lovable", "grey": "gray", "jewellery": "jewelry",
    "neighbourh": "neighborh", "tyre": "tire", "kerb": "curb", "draught": "draft", "gaol": "jail",
    "storey": "story", "whisky": "whiskey", "omelette": "omelet", "doughnut": "donut", "hiccough": "hiccup",
}  # fmt: skip
_WHOLE = {
    "appal": "appall", "appals": "appalls", "axe": "ax", "cheque": "check", "cheques": "checks", "cosy": "cozy",
    "distil": "distill", "distils": "distills", "enrol": "enroll", "enrols": "enrolls", "enthral": "enthrall",
    "fulfil": "fulfill", "fulfils": "fulfills", "instil": "instill", "instils": "instills",
    "marvellous": "marvelous", "marvellously": "marvelously", "chilli": "chili", "centring": "centering",
    "centred": "centered", "programme": "program", "programmes": "programs", "licenced": "licensed",
    "mollusc": "mollusk", "molluscs": "mollusks", "racquet": "racket", "racquets": "rackets", "sabred": "sabered",
    "waggon": "wagon", "waggons": "wagons", "storeys": "stories", "whiskies": "whiskeys",
    "theatregoer": "theatergoer", "theatregoers": "theatergoers",
}  # fmt: skip
# Written so in both, or another word after the rule.
_BOTH = frozenset(
    """
advise advised advises advising advisable arise arises arising bruise bruised bruises comprise comprised comprises
compromise concise crises cruise cruised cruises cruising demise devise devised disguise disguised enterprise
exercise exercised exercises exercising expertise franchise guise likewise noise noises noised otherwise paradise
poise poised praise praised praises precise premise premises prise prised prises prising promise promised promises
promising raise raised raises raising revise revised rise riser risers rises rising supervise supervised surprise
surprised surprises surprising televised wise wiser advertise advertised advertises advertising advertiser disable
miser misers greyhound greyhounds
""".split()
)

_IS = re.compile(r"(.{2,})is(e|es|ed|er|ers|ing|ingly|able|ation|ations|ational)")
_YS = re.compile(r"(.{3,})ys(e|es|ed|er|ers|ing)")
_OUR_WORD = re.compile(rf"((?:dis|un|be|out|re|mis)?(?:{'|'.join(_OUR)}))our(.*)")
_LL_WORD = re.compile(rf"((?:un|re|dis|out|mis)?(?:{'|'.join(_LL)}))l(ed|ing|ings|er|ers|ist|ists|or|ors|able)")
_RE_WORD = re.compile(
    rf"((?:amphi|kilo|centi|milli|epi|micro|nano|deci|hecto|milli|hydro)?(?:{'|'.join(_RE)}))re(s|glass|board|piece|pieces|fold)?"
)
_OGUE_WORD = re.compile(rf"({'|'.join(_OGUE)})ogue(s?)")
_RULES = ((_OUR_WORD, "or"), (_LL_WORD, ""), (_RE_WORD, "er"), (_OGUE_WORD, "og"), (_IS, "iz"), (_YS, "yz"))
_STEM = re.compile("|".join(sorted(_STEMS, key=len, reverse=True)))


@lru_cache(maxsize=1 << 16)
def american(word: str) -> str:
    """The word as it is written in America; most words are written the same."""
    if word in _BOTH or len(word) < 2:
        return word
    if word in _WHOLE:
        return _WHOLE[word]
    possessive = word.endswith("'s")
    plain = _american(word.removesuffix("'s"))
    return plain + "'s" if possessive else plain


def _american(word: str) -> str:
    if word in _BOTH:
        return word
    if match := _STEM.match(word):
        word = _STEMS[match[0]] + word[match.end() :]
    for pattern, ending in _RULES:
        if match := pattern.fullmatch(word):
            return f"{match[1]}{ending}{match[2] or ''}"
    return word
