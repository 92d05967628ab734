// Texts: how words, times and shares are written. The same as in Python (words.py, visible_text.py).
const Texts = (() => {
  const unseen = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
  const longest = 300;  // letters of a name

  // Nothing in a text acts, all of it is seen.
  const visible = (text) => /[^ -~]/.test(text) ? String(text).replace(unseen, "\ufffd") : String(text);
  const shortName = (text) => visible([...String(text)].slice(0, longest).join(""));

  // A time in the recording: 0:03, 12:40, 1:02:03; 0:03.2 with tenths.
  const clock = (seconds, tenths = false) => {
    const whole = Math.max(0, Math.floor(seconds * 10 + 1e-6)), pad = (value) => String(value).padStart(2, "0");
    const rest = Math.floor(whole / 10), minutes = Math.floor(rest / 60), hours = Math.floor(minutes / 60);
    const shown = (hours ? hours + ":" + pad(minutes % 60) : minutes) + ":" + pad(rest % 60);
    return tenths ? shown + "." + whole % 10 : shown;
  };

  // Rounded down: what is shown as 90% is not under 90%.
  const percent = (share) => Math.floor(100 * share + 1e-9) + "%";
  const count = (value) => Math.round(value).toLocaleString("en");
  const rough = (value) => value >= 10 ? count(value) : value.toFixed(1);
  const plural = (value, name) => count(value) + " " + name + (value === 1 ? "" : "s");

  // Each word as it is written when every word is marked on its own, and the space after it.
  // A number that was spelled out has its surface on the first word only: 42 becomes forty and two.
  const spelled = (words) => words.map((word, index) => {
    const goesOn = index + 1 < words.length && words[index + 1].word === "";
    return word.word && !goesOn ? [word.word, word.joins_next ? "" : " "] : [word.norm, " "];
  });

  // Words between white space, as Python has it.
  const split = (text) => text.split(/[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/).filter(Boolean);

  const edge = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
  const trimEnd = (text) => text.replace(new RegExp(edge + "$"), "");
  const trim = (text) => trimEnd(text).replace(new RegExp("^" + edge), "");

  // What words say together; the pieces of a token (`Middle-` and `earth`) have no space between them.
  const joined = (words) => words.map((word) => word.word + (word.joins_next ? "\u2060" : "")).filter(Boolean).join(" ")
    .replaceAll("\u2060 ", "").replaceAll("\u2060", "");
  // Who said it, to be read: the speaker, or the channel.
  const voice = ({ speaker, channel, utt }) => speaker || (channel && utt.endsWith("-" + channel) ? "Channel " + channel : "");
  const warning = ({ name, figure, message }) => "warning: " + message + " (" + name + " " + Numbers.general(figure) + ")";

  return { split, trim, trimEnd, joined, voice, warning, visible, shortName, clock, percent, count, rough, plural, spelled };
})();

