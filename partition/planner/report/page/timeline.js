// Draws a bar for every action. The timeline and the memory below it share one time axis.
const kinds = [
  ["F", "forward", "forward"], ["B", "input gradient", "input"], ["W", "weight gradient", "weight"],
  ["G", "both gradients", "both"], ["R", "adding gradients over replicas", "reduction"],
  ["S", "optimizer's step", "other"],
];
const axis = 24;
const view = { replica: 0, from: 0, to: 0 };
const isNarrow = () => by("timeline").clientWidth < 800;
const leftEdge = () => (isNarrow() ? 74 : 150);  // x of the first time, in pixels
const end = () => data.replicas[view.replica].end;
const rowHeight = () => Math.max(14, Math.min(30, 720 / data.stages.length));
const summed = 3;  // pixels: narrower passes are drawn as shares

const deviceName = (device) => data.devices[device].name;

function rowName(stage) {
  return `stage ${stage} · ${deviceName(data.stages[stage].devices[view.replica])}`;
}

const rowLabel = (stage) => (isNarrow() ? `stage ${stage}` : rowName(stage));

function xOf(canvas, time) {
  return leftEdge() + (time - view.from) / (view.to - view.from) * (canvas.clientWidth - leftEdge() - 8);
}

function drawAxis(drawing, canvas, height) {
  drawing.fillStyle = colour("soft");
  drawing.strokeStyle = colour("line");
  drawing.lineWidth = 1;
  drawing.textAlign = "center";
  for (const time of ticks(view.from, view.to, Math.max(3, canvas.clientWidth / 130))) {
    const x = xOf(canvas, time);
    drawing.beginPath();
    drawing.moveTo(x, axis - 4);
    drawing.lineTo(x, height);
    drawing.stroke();
    drawing.fillText(seconds(time), Math.min(x, canvas.clientWidth - 24), axis / 2 - 1);
  }
}

function drawTimeline() {
  const canvas = by("timeline"), row = rowHeight(), height = axis + row * data.stages.length + 4;
  const drawing = context(canvas, height), wide = passWidth(canvas) >= summed;
  drawAxis(drawing, canvas, height);
  data.replicas[view.replica].actions.forEach((actions, stage) => {
    drawing.fillStyle = colour("ink");
    drawing.textAlign = "left";
    drawing.fillText(rowLabel(stage), 0, rowMiddle(stage), leftEdge() - 8);
  });
  drawing.save();
  drawing.beginPath();
  drawing.rect(leftEdge(), axis, canvas.clientWidth - leftEdge() - 7, height);
  drawing.clip();
  data.replicas[view.replica].actions.forEach((actions, stage) =>
    (wide ? drawBars : drawShares)(drawing, canvas, actions, axis + stage * row, row));
  if (by("show-messages").checked && passWidth(canvas) >= 12) drawMessages(drawing, canvas);
  if (by("show-path").checked) drawPath(drawing, canvas);
  drawChosen(drawing, canvas);
  drawing.restore();
  by("timeline-level").textContent = wide ? (passWidth(canvas) < 12 ? "Messages are drawn from a larger scale on: zoom in." : "")
    : "Passes are narrower than pixels here: a column shows the shares of what it stands for. Zoom in for bars and messages.";
}

function look(from, to) {
  const span = Math.min(Math.max(to - from, end() / 5000), end());
  view.from = Math.max(0, Math.min(from, end() - span));
  view.to = view.from + span;
  drawTimeline();
  drawMemory();
}

function zoom(factor, centre = (view.from + view.to) / 2) {
  look(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
}

function followPointer(canvas) {
  let held = null;
  const timeAt = (event) => view.from +
    (event.offsetX - leftEdge()) / (canvas.clientWidth - leftEdge() - 8) * (view.to - view.from);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, timeAt(event));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    held = { x: event.offsetX, from: view.from, to: view.to };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held !== null) {
      const moved = (event.offsetX - held.x) / (canvas.clientWidth - leftEdge() - 8) * (held.to - held.from);
      look(held.from - moved, held.to - moved);
    }
    showTip(event, textAt(event));
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointerleave", (event) => showTip(event, null));
  canvas.addEventListener("dblclick", () => look(0, end()));
  canvas.addEventListener("keydown", (event) => {
    const tenth = (view.to - view.from) / 10;
    const moves = {
      ArrowLeft: () => look(view.from - tenth, view.to - tenth),
      ArrowRight: () => look(view.from + tenth, view.to + tenth),
      "+": () => zoom(0.8), "-": () => zoom(1.25), "0": () => look(0, end()),
    };
    const choices = {
      ArrowUp: () => choose(-1, 0), ArrowDown: () => choose(1, 0), ",": () => choose(0, -1), ".": () => choose(0, 1),
      Escape: chooseNothing,
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in moves || event.key in choices)) return;
    event.preventDefault();
    if (event.key in moves) showTip(event, null);
    (moves[event.key] || choices[event.key])();
  });
  canvas.addEventListener("blur", chooseNothing);
}

function startTimeline() {
  const used = kinds.map((_, kind) => data.replicas.some((replica) =>
    replica.actions.some((actions) => actions.some((action) => action[0] === kind && action[4] > action[3]))));
  legend("timeline-legend", kinds.filter((_, kind) => used[kind]).map(([letter, what, name]) =>
    [name, `${letter} ${what}`]));
  const bars = data.replicas[0].actions.reduce((sum, actions) => sum + actions.length, 0);
  by("timeline-note").textContent = `${data.schedule}, ${digits(bars, 9)} actions, as simulated` +
    (data.steps > 1 ? `: the first of ${data.steps} sampled steps, which take ${seconds(data.step)} on average` : "") +
    ". A bar's number is its micro-batch" + (data.chunkRank.length > data.stages.length ? "; pale bars are of a stage's later chunks" : "") +
    ". The line is the critical path, arrows are messages, from the pass that makes them to the one that takes them" +
    ". Drag to move, + and − or Ctrl and wheel to zoom, double-click for the whole step. Bars and blanks say what they are " +
    "under the pointer, or by keys: arrows up and down, comma and full stop.";
  by("timeline").setAttribute("aria-label",
    `Timeline of one step of ${seconds(end())} on ${data.stages.length} stages; the table above has their idle shares`);
  data.replicas.forEach((_, replica) => by("replica").append(element("option", { value: replica }, String(replica))));
  by("replica-pick").hidden = data.replicas.length === 1;
  by("replica").addEventListener("change", (event) => {
    view.replica = Number(event.target.value);
    chosen.place = -1;
    drawCauses();
    look(0, end());
  });
  by("zoom-in").addEventListener("click", () => zoom(0.6));
  by("zoom-out").addEventListener("click", () => zoom(1 / 0.6));
  by("zoom-all").addEventListener("click", () => look(0, end()));
  for (const box of ["show-path", "show-messages"]) by(box).addEventListener("change", drawTimeline);
  followPointer(by("timeline"));
}
