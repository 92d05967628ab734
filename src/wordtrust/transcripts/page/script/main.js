// Starts everything on the page.
(() => {
  Theme.start();
  Transcript.load(JSON.parse(Dom.by("transcript").textContent));
  KeptSteps.start();
  Marks.start();
  Summary.show();
  WordsView.show();
  Marks.update();
  Card.start();
  Position.start();
  Player.start();
  Network.start();
  Compare.start();
  Served.start();
  Editing.start();
  Review.start();
  KeptNotice.start();
  Transcript.on("change", ({ segments }) => {
    WordsView.refresh(segments);
    Compare.refresh(segments);
    Summary.show();
    Marks.update();
    Position.refresh();
    Review.refresh(segments);
    new Set(segments.map((id) => Transcript.segment(id).recording)).forEach((index) => Strip.refresh(Transcript.recordings[index]));
  });
  Dom.by("tools").hidden = false;
})();
