"""Calibration: confidences that mean what they say.

    calibrator = wt.calibrate.KernelCalibrator().fit(confidence, correct, groups=speakers)
    calibrator.predict(new_confidence)          # of the words given 0.9, nine in ten are right
    print(wt.calibrate.compare(confidence, correct, groups=speakers))

`KernelCalibrator` is the default; `Platt`, `Temperature`, `Isotonic`, `Histogram` and `Beta` have the same shape.
`to_dict` gives all that is needed to apply a calibrator, a few kB for JSON; `calibrator_from_dict` takes it back.
"""

from .base import BadScores, Calibrator
from .comparison import Comparison, compare
from .kernel import KernelCalibrator
from .parametric import Beta, Platt, Temperature
from .registry import calibrator_from_dict, make, names
from .stepwise import Histogram, Isotonic

__all__ = [
    "BadScores",
    "Beta",
    "Calibrator",
    "Comparison",
    "Histogram",
    "Isotonic",
    "KernelCalibrator",
    "Platt",
    "Temperature",
    "calibrator_from_dict",
    "compare",
    "make",
    "names",
]
