"""Cards of shipped models, and the page of the docs that is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from wordtrust.base.version import __version__
from wordtrust.combination.check import CheckModel
from wordtrust.confidence.model_card import ShippedCard
from wordtrust.confidence.model_file import Model
from wordtrust.confidence.shipped import ShippedModel
from wordtrust.confidence.shipped.cards import best_measure, card_text

RECOGNIZERS = {
    "kaldi-small-2020": "Vosk small en-us 0.15 (Kaldi chain model, 152,000 words), lattices",
    "vosk": "Vosk small en-us 0.15 as Vosk prints it: lists of alternatives with scores",
    "kaldi-small-2019": "an older small Vosk model (Kaldi chain model, 67,000 words), lattices",
    "kaldi-comprise": "the acoustic model of kaldi-small-2019 with another language model, lattices",
    "kaldi-zamia": "Zamia tdnn_250 of 2019 (Kaldi chain model, 169,000 words), lattices",
    "whisper-tiny.en": "Whisper tiny.en, lists of ten hypotheses",
    "whisper-base": "Whisper base, lists of ten hypotheses",
    "whisper-small": "Whisper small, lists of ten hypotheses",
    "moonshine-tiny": "Moonshine tiny, lists of ten hypotheses",
    "moonshine-base": "Moonshine base, lists of ten hypotheses",
}
ANY = "any recognizer whose own model there is not"
SENTENCES = "read English sentences of Common Voice: "
DATA = SENTENCES + "5,171 utterances of 1,354 speakers"
GENERIC_DATA = SENTENCES + "4,241 utterances of 1,138 speakers to train, 930 of 216 to choose"
VARIED = "; a fifth of 4,241 of them a second time, with fewer hypotheses or a narrower beam, some with other scores"
ADDED = {  # what else a model learned from (tools/mixed_corpus.py, tools/degraded_speech)
    "moonshine-tiny": "; all clips a second time with token evidence, and a third time degraded in one of fourteen "
    "ways (noise, babble, rooms, telephone, codecs and so on); 1,000 utterances by synthetic voices (letters, "
    "digits, names, dates, commands)",
    "whisper-tiny.en": "; 840 clips a second time with token evidence, 2,430 degraded in one of fourteen ways "
    "(noise, babble, rooms, telephone, codecs and so on)",
    "kaldi-small-2020": "; 930 clips a second time, as heard with a language model of another domain",
    "vosk": "; every utterance as two lists, of at most ten and a hundred alternatives, as Vosk prints them with the "
    "--lattice-beam=2 of its small models, drawn from the lattices of kaldi-small-2020 (tools/vosk_nbest.py)",
}
LICENCE = {
    "model": "Apache-2.0, like wordtrust",
    "speech": "Common Voice, CC0",
    "word vectors": "GloVe, public domain, reduced to 25 numbers a word",
    "recognizer": "nothing of it is inside: only its outputs were used, its own licence holds for itself",
}
NOISY = "English. Sentences of a few seconds, clean and degraded; long and spontaneous speech was not tried."
LIMITS = (
    "English. Read sentences of a few seconds; long, spontaneous or noisy speech was not tried.",
    "For outputs decoded in the same way (number of hypotheses, beams, scales): others shift the confidences.",
    "On other accents, subjects or recordings confidences lose some of their meaning: see docs/shift.md, and "
    "calibrate on a few hundred utterances of your own.",
)
GENERIC_LIMITS = (
    "It has never seen your recognizer: the order of its confidences is worth more than their values, and words lean "
    "on what the recognizer would print itself. Calibrate it on a few hundred utterances of your own.",
    *LIMITS,
)


def card_of(name: str, model: Model, metrics: Mapping[str, Any]) -> ShippedCard:
    """The card of a model; `metrics` are evaluations by split."""
    card = model.card
    made = {"wordtrust": __version__, "training": dict(card.training.options), "words": len(model.table.words)}
    if card.calibrated_on is not None:
        made["calibrated_on"] = card.calibrated_on.to_json() | {"speakers": len(card.calibrated_on.speakers)}
    return ShippedCard(
        name=name,
        recognizer=ANY if model.is_generic else RECOGNIZERS.get(name, model.recognizer or name),
        data=GENERIC_DATA if model.is_generic else _data(name, is_varied=name != "vosk"),
        licence=LICENCE,
        metrics=metrics,
        limits=GENERIC_LIMITS if model.is_generic else (NOISY, *LIMITS[1:]) if name in _HEARD_NOISE else LIMITS,
        made=made,
        unseen=card.unseen,
    )


_HEARD_NOISE = ("moonshine-tiny", "whisper-tiny.en")


def _data(name: str, *, is_varied: bool) -> str:
    return DATA + ADDED.get(name, "") + (VARIED if is_varied else "")


def joint_card(name: str, members: Iterable[str], metrics: Mapping[str, Any]) -> ShippedCard:
    """The card of a combination of recognizers."""
    recognizer, made = "several at once: " + ", ".join(members), {"wordtrust": __version__}
    return ShippedCard(name, recognizer, DATA, LICENCE, metrics, LIMITS, made)


def check_card(model: CheckModel) -> ShippedCard:
    """The card of what checks transcripts."""
    about = model.card
    train, dev = about["utterances"]
    data = (
        f"{SENTENCES}{train:,} utterances to train, {dev:,} to calibrate, as {len(about['recognizers'])} recognizers "
        f"({', '.join(about['recognizers'])}) wrote and heard them, and their references; texts were scored by "
        f"{' and '.join(about['forced']) or 'nobody'}"
    )
    recognizer = "transcripts of anybody, which others hear (wordtrust check)"
    limits = (
        LIMITS[0],
        "With a weak listener and no scores only the order of the words is to be trusted: docs/check.md.",
    )
    return ShippedCard("check", recognizer, data, LICENCE, {}, limits, {"wordtrust": __version__})


def page(models: Iterable[ShippedModel], shared_bytes: int = 0) -> str:
    """docs/shipped-models.md."""
    listed = list(models)
    if not listed:
        return _HEAD + "\nThis version comes without models.\n"
    total = sum(model.bytes for model in listed) + shared_bytes
    rows = ["| model | for | MB | NCE | EER | ECE |", "|---|---|---|---|---|---|"]
    rows += [_row(model) for model in listed]
    caption = (
        "NCE, EER and ECE are of the words of the recognizer's 1-best, calibrated, on the split named in the card. "
        f"All together take {total / 1e6:.1f} MB, {shared_bytes / 1e6:.1f} of them words that they share."
    )
    return "\n".join([_HEAD, *rows, "", caption, "", *(card_text(model) for model in listed)])


_HEAD = """# Models that come with wordtrust

Made by `python -m tools.shipped_models` from the cards inside the models; do not edit this
page by hand. Wherever a command takes a MODEL, the name of one of these works too:

```
wordtrust models
wordtrust score whisper-base eval.jsonl.gz --out words.ctm
```

In Python `wt.models()` lists them and `wt.load("whisper-base")` loads one. A model fits outputs of its recognizer
that were decoded in the same way; for another recognizer take the generic one ([results.md](results.md)).
"""


def _row(model: ShippedModel) -> str:
    _, best = best_measure(model.card)
    shown = [f"{best['nce']:.3f}", f"{100 * best['eer']:.1f}%", f"{best['ece']:.3f}"] if best else ["", "", ""]
    return f"| {model.name} | {model.card.recognizer} | {model.bytes / 1e6:.2f} | " + " | ".join(shown) + " |"
