// Subtitles: WebVTT and SubRip, as `wordtrust` writes them (subtitles.py).
const Subtitles = (() => {
  const colours = { low: "#ff8a80", medium: "#ffe082", high: "#ffffff" };
  const style = "STYLE\n::cue(.low) { color: " + colours.low + "; text-decoration: underline; }\n::cue(.medium) { color: " + colours.medium + "; }\n::cue(.high) { color: " + colours.high + "; }\n\n";
  const marks = { low: ['<font color="' + colours.low + '"><u>', "</u></font>"], medium: ['<font color="' + colours.medium + '">', "</font>"], high: ["", ""] };

  const two = (value) => String(value).padStart(2, "0");
  const timestamp = (milliseconds, point) => {
    const seconds = Math.floor(milliseconds / 1000);
    return two(Math.floor(seconds / 3600)) + ":" + two(Math.floor(seconds / 60) % 60) + ":" + two(seconds % 60) + point + String(milliseconds % 1000).padStart(3, "0");
  };
  const times = (cue, point) => timestamp(cue.start, point) + " --> " + timestamp(cue.end, point);

  // Channels of one recording are mixed.
  const recordings = () => {
    const made = [];
    for (const segment of Transcript.segments) {
      const name = Transcript.recordingOf(segment);
      if (!made.length || made.at(-1).name !== name) made.push({ name, segments: [] });
      made.at(-1).segments.push(segment);
    }
    return made;
  };
  const cues = (segments, labelled) => {
    const made = segments.flatMap((segment) => {
      const voice = Texts.voice(segment);
      return Cues.of(segment.words, labelled(voice)).map((cue, index) => ({ ...cue, voice, begins: index === 0 }));
    }).filter((cue) => cue.letters);
    const mixed = new Set(segments.map((segment) => segment.channel ?? null)).size > 1;
    return Cues.stayOn(mixed ? made.sort((one, other) => one.start - other.start) : made);
  };

  const vttText = (text) => Cues.oneLine(text).replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
  const vttVoice = (voice) => vttText(voice).replaceAll("&gt;", "\u203a") || "-";
  const vttLine = (words) => Texts.trimEnd(words.map(({ word, written, space }) => "<c." + WordsView.level(word) + ">" + vttText(written) + "</c>" + space).join(""));
  const vttCue = (cue) => times(cue, ".") + "\n" + (cue.voice ? "<v " + vttVoice(cue.voice) + ">" : "") + cue.lines.map(vttLine).join("\n") + "\n\n";
  const vtt = () => "WEBVTT\n\n" + style + recordings().map(({ name, segments }) =>
    "NOTE " + (vttText(name) || "-") + "\n\n" + segments.flatMap((segment) => segment.warnings ?? []).map((warning) => "NOTE " + vttText(Texts.warning(warning)) + "\n\n").join("")
    + cues(segments, () => "").map(vttCue).join("")).join("");

  const srtSigns = { "<": "\u2039", ">": "\u203a", "{": "(", "}": ")", "\\": "/" };
  const srtText = (text) => Cues.oneLine(text).replace(/[<>{}\\]/g, (sign) => srtSigns[sign]);
  const srtLabel = (voice) => srtText(voice) ? srtText(voice) + ": " : "";
  const srtLine = (words) => Texts.trim(words.map(({ word, written, space }) => {
    const text = srtText(written), [before, after] = marks[WordsView.level(word)];
    return (text ? before + text + after : "") + space;
  }).join(""));
  // SubRip cannot name recordings: a text for each.
  const srtOf = ({ segments }) => {
    let count = 0, last = "", text = "";
    for (const cue of cues(segments, srtLabel)) {
      const label = cue.begins || cue.voice !== last ? srtLabel(cue.voice) : "", shown = cue.lines.map(srtLine).filter(Boolean).join("\n");
      last = cue.voice;
      if (shown) text += ++count + "\n" + times(cue, ",") + "\n" + label + shown + "\n\n";
    }
    return text;
  };
  const srt = () => recordings().map(({ name, segments }) => ({ name, text: srtOf({ segments }) }));

  return { vtt, srt };
})();

