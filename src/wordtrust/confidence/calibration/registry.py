"""Calibrators by name, and from their plain form."""

from __future__ import annotations

from typing import Any

from ...base.errors import InputError, OptionError
from ...base.json_checks import number, object_of, record, string
from .base import FORMAT, Calibrator
from .kernel import KernelCalibrator
from .parametric import Beta, Platt, Temperature
from .stepwise import Histogram, Isotonic

_KINDS: dict[str, type[Calibrator]] = {
    kind.name: kind for kind in (KernelCalibrator, Platt, Temperature, Isotonic, Histogram, Beta)
}


def names() -> tuple[str, ...]:
    """The names of all calibrators, the default first."""
    return tuple(_KINDS)


def make(name: str, **params: Any) -> Calibrator:
    """A calibrator that is not fitted yet, with these parameters."""
    if name not in _KINDS:
        raise OptionError(f"there is no calibrator {name!r}; there are: {', '.join(_KINDS)}")
    return _KINDS[name]().set_params(**params)


def calibrator_from_dict(value: Any) -> Calibrator:
    """The calibrator that `to_dict` wrote. Anything else is an `InputError`, whatever it is."""
    remedy = "Fit it again with this version of wordtrust"
    form = record(value, "the calibrator")
    name, version = string(form, "calibrator"), number(form, "format")
    if name not in _KINDS or version != FORMAT:
        raise InputError(f"a calibrator {name[:40]!r} of format {version:g} is not known", remedy=remedy)
    try:
        calibrator = _KINDS[name]().set_params(**object_of(form, "params"))
        calibrator._check_params()
    except (OptionError, ValueError) as error:  # Python cannot print the longest of whole numbers
        raise InputError(f"a calibrator's parameters are bad: {error}"[:200], remedy=remedy) from None
    try:
        calibrator._from_dict(object_of(form, "fitted"))
    except InputError as error:
        raise error.at(place=f"calibrator {name}") from None
    return calibrator
