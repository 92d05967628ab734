// Exports: the transcript with all corrections as json and txt, and files of all formats to save.
const Exports = (() => {
  // The record of a segment, as .json and .jsonl files have it: what is not about its words is as it came.
  const wordRecord = ({ id, surer_alternative: _, ...word }) => {
    const surer = !WordsView.isMadeUp(word) && word.alternatives.some((other) => other.confidence > word.confidence);
    return surer ? { ...word, surer_alternative: true } : word;
  };
  const record = (segment) => {
    const { utt, start: _start, end: _end, speaker: _speaker, text: _text, confidence: _, mean_confidence: _mean, words: _words, missing_end: _gap, ...rest } = Transcript.data.records[segment.index];
    const words = segment.words.map(wordRecord), edited = Transcript.isEdited(segment), gap = segment.missing_end;
    return {
      utt, ...(words.length ? { start: words[0].start, end: words.at(-1).end } : {}), ...(segment.speaker ? { speaker: segment.speaker } : {}),
      text: Texts.joined(segment.words),
      confidence: edited ? Numbers.product(words.map((word) => word.confidence)) : segment.confidence,
      mean_confidence: Numbers.mean(words.map((word) => word.confidence)), words,
      ...(gap === undefined || gap === null ? {} : { missing_end: gap }), ...rest, ...Evidence.record(segment),
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
      const { words } = segment, goesOn = last !== null && segment.utt === last.utt, voice = Texts.voice(segment);
      if (!words.length) { if (!goesOn) { text += "\n"; last = segment; } continue; }
      if (goesOn && last.words.length && words[0].start - last.words.at(-1).end >= paragraph) text += "\n";
      text += Cues.oneLine((voice && !(goesOn && Texts.voice(last) === voice) ? voice + ": " : "") + Texts.joined(words)) + "\n";
      last = segment;
    }
    return text;
  };

  const formats = {
    txt: ["plain text", txt], srt: ["subtitles (SubRip)", Subtitles.srt], vtt: ["subtitles (WebVTT)", Subtitles.vtt], json: ["everything, to go on with wordtrust", json],
    ctm: ["words with times (NIST)", Nist.ctm], stm: ["references, for training and evaluation (NIST)", Nist.stm],
  };

  const download = (name, text) => {
    const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
    const link = Dom.make("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  };
  const fileName = (title, ending) => (Texts.visible(title).replace(/[\/\\:*?"<>|\ufffd]/g, "_").slice(0, 100) || "transcript") + "." + ending;
  // Saves a file; of SubRip one for each recording.
  const save = (ending, options) => {
    const made = formats[ending][1](options), files = Array.isArray(made) ? made.map(({ name, text }) => [fileName(made.length > 1 ? name : document.title, ending), text]) : [[fileName(document.title, ending), made]];
    files.forEach(([name, text]) => download(name, text));
    Notice.show("Saved as " + files.map(([name]) => name).join(", "));
  };

  const open = () => {
    const all = Dom.make("input", { type: "checkbox" }), checked = Transcript.segments.filter(Nist.isChecked).length;
    const shown = Dialogs.open("Export", Dom.make("div", {}, ...Object.entries(formats).map(([ending, [kind]]) =>
      Dom.make("div", { class: "export-row" }, Dom.make("button", { type: "button", text: "." + ending, onclick: () => { shown.close(); save(ending, { all: all.checked }); } }), Dom.make("span", { text: kind }))),
      Dom.make("label", { class: "tick" }, all, "References of all segments, not only of the " + Texts.count(checked) + " that are checked")));
  };

  return { open, save, formats, json, txt, record };
})();

