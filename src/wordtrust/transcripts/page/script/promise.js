// Promise: how sure it is that few enough errors are left, as transcripts/review/promise.py computes it.
// `plan` has strength, weight and limit; evidence is { expected, found } of what a person has checked.
const Promised = (() => {
  const nothing = 1e-12, huge = 1e250;

  // How much worse the recording is than its confidences say: a gamma distribution.
  const belief = (plan, { expected, found }) => {
    const weight = plan.weight / (1 + plan.weight * expected / plan.limit);
    const shape = plan.strength + weight * found, rate = plan.strength + weight * expected;
    return { shape, rate, factor: shape / rate };
  };

  // The probability that at most `most` errors are left where `left` are expected: of a negative binomial distribution.
  const promise = ({ shape, rate }, left, most) => {
    if (most < 0) return 0;
    if (left <= nothing) return 1;
    const chance = left / (rate + left);
    let scale = -shape * Math.log1p(left / rate), term = 1, sum = 1;
    for (let count = 0; count < most; count++) {
      term *= (shape + count) / (count + 1) * chance;
      sum += term;
      if (sum > huge) { term /= huge; sum /= huge; scale += Math.log(huge); }
    }
    return Math.min(1, Math.exp(scale + Math.log(sum)));
  };

  const mostErrors = (target, words) => Math.floor(target * words + 1e-9);

  // How many of the next stretches it takes if as many errors are found as expected. `stretches` have `errors` (expected),
  // `chance` (how many words and gaps are expected to be wrong).
  const needed = (plan, evidence, left, most, stretches) => {
    const { factor } = belief(plan, evidence);
    const errors = [0], chance = [0];
    for (const each of stretches) { errors.push(errors.at(-1) + each.errors); chance.push(chance.at(-1) + each.chance); }
    let low = 0, high = stretches.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const found = { expected: evidence.expected + chance[middle], found: evidence.found + factor * chance[middle] };
      if (promise(belief(plan, found), Math.max(0, left - errors[middle]), most) >= plan.sure) high = middle; else low = middle + 1;
    }
    return low;
  };

  return { belief, promise, mostErrors, needed };
})();
