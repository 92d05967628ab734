// Numbers: rounded and added as Python does it, so that files from here and from there are the same.
const Numbers = (() => {
  // To some decimals; what is exactly between two numbers goes to the even one.
  const round = (value, decimals) => {
    const exact = value.toFixed(Math.min(20, decimals + 14)), isBetween = /^5?0*$/.test(exact.slice(exact.indexOf(".") + 1 + decimals)) && exact[exact.indexOf(".") + 1 + decimals] === "5";
    if (!isBetween) return Number(value.toFixed(decimals));
    const unit = 10 ** decimals, below = Math.floor(value * unit);
    return (below % 2 === 0 ? below : below + 1) / unit;
  };
  // Six digits, as Python's `g` writes them.
  const general = (value) => {
    const [digits, power] = value.toExponential(5).split("e"), exponent = Number(power);
    if (exponent >= -4 && exponent < 6) return String(round(value, 5 - exponent));
    return Number(digits) + "e" + (exponent < 0 ? "-" : "+") + String(Math.abs(exponent)).padStart(2, "0");
  };
  const fixed = (value, decimals) => round(value, decimals).toFixed(decimals);

  // A sum that keeps what rounding loses on the way (Neumaier), as Python's has done since 3.12.
  const sum = (values) => {
    let total = 0, lost = 0;
    for (const value of values) {
      const next = total + value;
      lost += Math.abs(total) >= Math.abs(value) ? total - next + value : value - next + total;
      total = next;
    }
    return total + lost;
  };
  const mean = (values) => values.length ? round(sum(values) / values.length, 6) : null;
  const product = (values) => values.length ? round(values.reduce((total, value) => total * Math.min(round(value, 6), 1), 1), 6) : null;
  const milliseconds = (seconds) => Math.max(0, round(seconds * 1000, 0));

  return { round, general, fixed, sum, mean, product, milliseconds };
})();

