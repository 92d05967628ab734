// Nist: CTM, words with times, and STM, references for training; as `wordtrust` writes them (ctm_writer.py, stm_writer.py).
const Nist = (() => {
  // White space in names and words becomes `_`; what CTM gives a meaning of its own is written as the normalised word.
  const unknown = new Set(["<unk>", "[unk]", "(unk)", "{unk}", "<unknown>", "<oov>", "[oov]", "!unk", "!oov"]);
  const marks = new Set(["", "#0", "@reject@", "*delete*", "-pau-", "(pau)", "!null", "!sil", "!enter", "!exit", "!noise", "!sent_start", "!sent_end"]);
  const isMark = (text) => !unknown.has(text.toLowerCase()) && (marks.has(text.toLowerCase()) || /^(<.*>|\[.*\]|\{.*\}|\+\+.*\+\+|\(\(.*\)\))$/s.test(text));
  const field = (text) => Texts.visible(Texts.split(text).join("_"));
  const nameField = (text) => { const name = field(text) || "_"; return name.startsWith(";;") ? "_" + name : name; };
  const wordField = (surface, norm) => {
    for (const text of [surface, norm].map(field)) if (!text.includes(";;") && !isMark(text) && (norm === "<unk>" || !unknown.has(text.toLowerCase()))) return text;
    return "<unk>";
  };

  // The name and the channel of a recording.
  const without = (utt, channel) => utt.endsWith("-" + channel) ? utt.slice(0, -1 - channel.length) : utt;
  const channelOf = ({ utt, channel }) => {
    if (channel && Texts.split(channel).join(" ") === channel && !channel.includes(" ")) return [nameField(without(utt, channel)), channel];
    const { about } = Transcript, stem = String(about.file ?? "").split("/").at(-1).replace(/(?<=.)\.[^.]+$/, ""), only = String(about.channel || "1");
    return [nameField(utt === stem + "-" + only ? stem : utt), only];
  };
  const missing = (gap) => gap !== undefined && gap !== null && gap >= Transcript.limits.missing ? "something may be missing here (" + Texts.percent(gap) + ")" : "";

  const ctmSegment = (segment) => {
    const [name, channel] = channelOf(segment), written = Texts.spelled(segment.words);
    const comment = (time, text) => ";; " + name + " " + channel + " " + Numbers.fixed(time, 3) + " " + text + "\n";
    const lines = segment.words.map((word, index) => {
      const start = Numbers.milliseconds(word.start), seconds = Numbers.milliseconds(word.end) - start, gap = missing(word.missing_before);
      const row = [name, channel, Numbers.fixed(start / 1000, 3), Numbers.fixed(seconds / 1000, 3), wordField(written[index][0], word.norm), Numbers.fixed(word.confidence, 6)];
      return (gap ? comment(word.start, gap) : "") + row.join(" ") + "\n";
    });
    const end = missing(segment.missing_end);
    const warnings = (segment.warnings ?? []).map((warning) => comment(Math.max(0, segment.words[0].start), Cues.oneLine(Texts.warning(warning))));
    return warnings.join("") + lines.join("") + (end ? comment(segment.words.at(-1).end, end) : "");
  };
  const ctm = () => {
    const { about, segments } = Transcript, spoken = segments.filter((segment) => segment.words.length), limit = about.accept?.threshold;
    const heard = new Set(spoken.map((segment) => channelOf(segment).join(" "))), silent = new Map();
    segments.filter((segment) => !segment.words.length).forEach((segment) => { const key = channelOf(segment).join(" "); if (!heard.has(key) && !silent.has(key)) silent.set(key, segment.utt); });
    return (typeof limit === "number" ? ";; accepted words: confidence from " + Numbers.general(limit) + " on; " + (about.accept.promise ?? "") + "\n" : "")
      + spoken.map(ctmSegment).join("") + [...silent.values()].map((utt) => ";; " + nameField(utt) + " has no words\n").join("");
  };

  // Segments of which nobody has checked every word do not count, unless `all` do.
  const isChecked = (segment) => segment.words.length > 0 && segment.words.every((word) => word.checked);
  // Without the signs that have a meaning of their own in NIST's texts.
  const nistText = (text) => Texts.split(text).map((token) => Texts.visible(token).replace(/[{}()<>[\];\\*@]/g, "").replace(/^[-%]+|-+$/g, "")).filter(Boolean).join(" ");
  const stm = ({ all = false } = {}) => Transcript.segments.filter((segment) => segment.words.length).map((segment) => {
    const [name, channel] = channelOf(segment), start = Math.max(0, segment.words[0].start), end = Math.max(start, ...segment.words.map((word) => word.end));
    const text = all || isChecked(segment) ? nistText(Texts.joined(segment.words)) : "IGNORE_TIME_SEGMENT_IN_SCORING";
    return [name, channel, nameField(segment.speaker || name), Numbers.fixed(start, 3), Numbers.fixed(end, 3), text].join(" ").trimEnd() + "\n";
  }).join("");

  return { ctm, stm, isChecked };
})();

