// Exports: the transcript with all corrections as txt, srt, vtt, json, ctm and stm, each as `wordtrust` writes it.
const Exports = (() => {
  const joiner = /\u2060/g;
  const oneLine = (text) => Texts.visible(Texts.split(text).join(" "));
  const textOf = (words) => words.filter((word) => word.word).map((word, index, all) => word.word.replace(joiner, "") + (word.joins_next || index + 1 === all.length ? "" : " ")).join("");

  // The record of a segment, as .json and .jsonl files have it.
  const wordRecord = ({ id, surer_alternative: _, ...word }) => {
    const surer = !WordsView.isMadeUp(word) && word.alternatives.some((other) => other.confidence > word.confidence);
    return surer ? { ...word, surer_alternative: true } : word;
  };
  const record = (segment) => {
    const words = segment.words.map(wordRecord), edited = Transcript.isEdited(segment), gap = segment.missing_end;
    return {
      utt: segment.utt, ...(words.length ? { start: words[0].start, end: words.at(-1).end } : {}),
      ...(segment.speaker ? { speaker: segment.speaker } : {}), text: textOf(segment.words),
      confidence: edited ? Numbers.product(words.map((word) => word.confidence)) : segment.confidence,
      mean_confidence: Numbers.mean(words.map((word) => word.confidence)), words,
      ...(gap === undefined || gap === null ? {} : { missing_end: gap }), ...(segment.warnings?.length ? { warnings: segment.warnings } : {}),
      ...Evidence.record(segment),
    };
  };
  const json = () => {
    const { data, segments } = Transcript, records = segments.map(record), names = new Set(segments.map((segment) => segment.utt));
    const mean = Numbers.mean(records.flatMap((each) => each.words.map((word) => word.confidence)));
    const head = {
      ...data.about, wordtrust: data.wordtrust, ...(names.size === 1 ? { utt: segments[0].utt } : {}),
      text: records.filter((each) => each.words.length).map((each) => each.text).join("\n"), confidence: mean, mean_confidence: mean,
      ...(data.left_out ? { left_out: data.left_out } : {}),
    };
    const lines = Object.entries(head).map(([name, value]) => " " + JSON.stringify(name) + ": " + JSON.stringify(value) + ",\n").join("");
    return "{\n" + lines + ' "segments": [' + (records.length ? "\n" + records.map((each) => "  " + JSON.stringify(each)).join(",\n") + "\n " : "") + "]\n}\n";
  };

  const paragraph = 3;  // seconds of a pause
  const txt = () => {
    let text = "", last = null;
    for (const segment of Transcript.segments) {
      const { words } = segment, goesOn = last !== null && segment.utt === last.utt;
      if (!words.length) { if (!goesOn) { text += "\n"; last = segment; } continue; }
      if (goesOn && last.words.length && words[0].start - last.words.at(-1).end >= paragraph) text += "\n";
      const saysOn = goesOn && (last.speaker ?? null) === (segment.speaker ?? null);
      text += oneLine((segment.speaker && !saysOn ? segment.speaker + ": " : "") + textOf(words)) + "\n";
      last = segment;
    }
    return text;
  };

  // CTM: white space in names and words becomes `_`, what CTM gives a meaning of its own is written as the normalised word.
  const unknown = new Set(["<unk>", "[unk]", "(unk)", "{unk}", "<unknown>", "<oov>", "[oov]", "!unk", "!oov"]);
  const marks = new Set(["", "#0", "@reject@", "*delete*", "-pau-", "(pau)", "!null", "!sil", "!enter", "!exit", "!noise", "!sent_start", "!sent_end"]);
  const isMark = (text) => !unknown.has(text.toLowerCase()) && (marks.has(text.toLowerCase()) || /^(<.*>|\[.*\]|\{.*\}|\+\+.*\+\+|\(\(.*\)\))$/s.test(text));
  const field = (text) => Texts.visible(Texts.split(text).join("_"));
  const nameField = (text) => { const name = field(text) || "_"; return name.startsWith(";;") ? "_" + name : name; };
  const wordField = (surface, norm) => {
    for (const text of [surface, norm].map(field)) if (!text.includes(";;") && !isMark(text) && (norm === "<unk>" || !unknown.has(text.toLowerCase()))) return text;
    return "<unk>";
  };
  const channelOf = (utt) => {
    const { about } = Transcript, stem = String(about.file ?? "").split("/").at(-1).replace(/(?<=.)\.[^.]+$/, ""), channel = String(about.channel || "1");
    return [nameField(utt === stem + "-" + channel ? stem : utt), channel];
  };
  const missing = (gap) => gap !== undefined && gap !== null && gap >= Transcript.limits.missing ? "something may be missing here (" + Texts.percent(gap) + ")" : "";

  const ctmSegment = (segment, name, channel) => {
    const written = Texts.spelled(segment.words), comment = (time, text) => ";; " + name + " " + channel + " " + Numbers.fixed(time, 3) + " " + text + "\n";
    const lines = segment.words.map((word, index) => {
      const start = Numbers.milliseconds(word.start), length = Numbers.milliseconds(word.end) - start, gap = missing(word.missing_before);
      return (gap ? comment(word.start, gap) : "") + [name, channel, Numbers.fixed(start / 1000, 3), Numbers.fixed(length / 1000, 3), wordField(written[index][0], word.norm), Numbers.fixed(word.confidence, 6)].join(" ") + "\n";
    });
    const end = missing(segment.missing_end), warnings = (segment.warnings ?? []).map((warning) => comment(Math.max(0, segment.words[0].start), oneLine("warning: " + warning.message + " (" + warning.name + " " + Number(warning.figure.toPrecision(6)) + ")")));
    return warnings.join("") + lines.join("") + (end ? comment(segment.words.at(-1).end, end) : "");
  };
  const ctm = () => {
    const { about, segments } = Transcript, spoken = segments.filter((segment) => segment.words.length), limit = about.accept?.threshold;
    const silent = [...new Set(segments.map((segment) => segment.utt))].filter((utt) => !spoken.some((segment) => segment.utt === utt));
    return (typeof limit === "number" ? ";; accepted words: confidence from " + Number(limit.toPrecision(6)) + " on; " + (about.accept.promise ?? "") + "\n" : "")
      + spoken.map((segment) => ctmSegment(segment, ...channelOf(segment.utt))).join("") + silent.map((utt) => ";; " + nameField(utt) + " has no words\n").join("");
  };

  // References for training: segments of which nobody has checked every word do not count, unless `all` do.
  const isChecked = (segment) => segment.words.length > 0 && segment.words.every((word) => word.checked);
  const stm = ({ all = false } = {}) => Transcript.segments.filter((segment) => segment.words.length).map((segment) => {
    const [name, channel] = channelOf(segment.utt), times = [segment.words[0].start, Math.max(segment.words[0].start, segment.words.at(-1).end)].map((time) => Numbers.fixed(Math.max(0, time), 3));
    const text = all || isChecked(segment) ? nistText(textOf(segment.words)) : "IGNORE_TIME_SEGMENT_IN_SCORING";
    return [name, channel, nameField(segment.speaker || name), ...times, text].join(" ").trimEnd() + "\n";
  }).join("");
  // Without the signs that have a meaning of their own in NIST's texts.
  const nistText = (text) => Texts.split(text).map((token) => Texts.visible(token).replace(/[{}()<>[\];\\*@]/g, "").replace(/^[-%]+|-+$/g, "")).filter(Boolean).join(" ");

  const formats = { txt, json, ctm, stm };
  const kinds = { txt: "plain text", json: "everything, to go on with wordtrust", ctm: "words with times (NIST)", stm: "references, for training and evaluation" };

  const download = (name, text) => {
    const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
    const link = Dom.make("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  };
  const fileName = (ending) => (document.title.replace(/[\/\\:*?"<>|\ufffd]/g, "_") || "transcript") + "." + ending;
  const open = () => {
    const all = Dom.make("input", { type: "checkbox" }), checked = Transcript.segments.filter(isChecked).length;
    const shown = Dialogs.open("Export", Dom.make("div", {}, ...Object.entries(formats).map(([ending, write]) =>
      Dom.make("div", { class: "export-row" }, Dom.make("button", { type: "button", text: "." + ending, onclick: () => { download(fileName(ending), write({ all: all.checked })); shown.close(); Notice.show("Saved as " + fileName(ending)); } }), Dom.make("span", { text: kinds[ending] }))),
      Dom.make("label", { class: "tick" }, all, "References of all segments, not only of the " + Texts.count(checked) + " that are checked")));
  };

  return { open, formats, json, txt, ctm, stm, textOf, record, isChecked };
})();

