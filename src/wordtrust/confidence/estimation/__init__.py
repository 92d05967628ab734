"""What a whole output is worth, without references: expected errors, and the word error rate with intervals.

- `error_estimator`: from confidences to expected substitutions, insertions and deletions, by held-out speakers;
- `speaker_intervals`: intervals that hold for new speakers, from the residuals of those speakers;
- `accepted`: guaranteed thresholds of a model, by precision;
- `held_out`: all of these, made when a model is calibrated;
- `utterances`: whose errors are estimated.

`confidence.estimate` puts them to work (`wt.estimate`).
"""
