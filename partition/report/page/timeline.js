// A bar for every action; both drawings below each other share their times.
const kinds = [
  ["F", "forward", "forward"], ["B", "input gradient", "input"], ["W", "weight gradient", "weight"],
  ["G", "both gradients", "both"], ["R", "adding gradients over replicas", "reduction"],
  ["S", "optimizer's step", "other"],
];
const gutter = 150, axis = 24;
const view = { replica: 0, from: 0, to: 0 };
const end = () => data.replicas[view.replica].end;
const rowHeight = () => Math.max(12, Math.min(30, 720 / data.stages.length));

function rowName(stage) {
  return `stage ${stage} · ${deviceName(data.stages[stage].devices[view.replica])}`;
}

function xOf(canvas, time) {
  return gutter + (time - view.from) / (view.to - view.from) * (canvas.clientWidth - gutter - 8);
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
  const drawing = context(canvas, height);
  const fills = kinds.map(([, , name]) => colour(name)), ink = colour("on-bar"), paper = colour("paper");
  drawAxis(drawing, canvas, height);
  data.replicas[view.replica].actions.forEach((actions, stage) => {
    const top = axis + stage * row;
    drawing.fillStyle = colour("ink");
    drawing.textAlign = "left";
    drawing.fillText(rowName(stage), 0, top + row / 2, gutter - 10);
    drawing.save();
    drawing.beginPath();
    drawing.rect(gutter, axis, canvas.clientWidth - gutter - 8 + 1, height);
    drawing.clip();
    drawing.textAlign = "center";
    for (const [kind, chunk, microBatch, from, to] of actions) {
      if (to < view.from || from > view.to) continue;
      const x = xOf(canvas, from), width = Math.max(xOf(canvas, to) - x, 0.4);
      const gap = width > 4 ? 0.5 : 0;
      drawing.globalAlpha = chunk >= data.stages.length ? 0.68 : 1;
      drawing.fillStyle = fills[kind];
      const low = kind === 4 ? row * 0.62 : 0;
      drawing.fillRect(x + gap, top + 1 + low, width - 2 * gap, row - 2 - low);
      drawing.globalAlpha = 1;
      if (kind < 4 && row >= 12 && width > 8 * String(microBatch).length + 4) {
        drawing.fillStyle = chunk >= data.stages.length ? colour("ink") : ink;
        drawing.fillText(microBatch, x + width / 2, top + row / 2 + 0.5);
      }
    }
    drawing.restore();
    drawing.fillStyle = paper;
  });
}

function actionAt(event) {
  const box = by("timeline").getBoundingClientRect(), x = event.clientX - box.left;
  const stage = Math.floor((event.clientY - box.top - axis) / rowHeight());
  if (x < gutter || stage < 0 || stage >= data.stages.length) return null;
  const time = view.from + (x - gutter) / (box.width - gutter - 8) * (view.to - view.from);
  const near = (view.to - view.from) / (box.width - gutter);
  const hit = data.replicas[view.replica].actions[stage].filter(
    ([, , , from, to]) => time >= from - near && time <= to + near);
  return hit.length === 0 ? null : { stage, action: hit.find((a) => time >= a[3] && time <= a[4]) || hit[0] };
}

function describe({ stage, action: [kind, chunk, microBatch, from, to] }) {
  const what = kind < 4 ? `${kinds[kind][1]} of micro-batch ${microBatch}` : kinds[kind][1];
  const where = data.chunkRank.length > data.stages.length && kind < 5 ? `, chunk ${chunk}` : "";
  return `${kinds[kind][0]} · ${what}\n${rowName(stage)}${where}\n${seconds(to - from)}: ` +
    `${seconds(from)} to ${seconds(to)}`;
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
    (event.offsetX - gutter) / (canvas.clientWidth - gutter - 8) * (view.to - view.from);
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
      const moved = (event.offsetX - held.x) / (canvas.clientWidth - gutter - 8) * (held.to - held.from);
      look(held.from - moved, held.to - moved);
    }
    const hit = actionAt(event);
    showTip(event, hit === null ? null : describe(hit));
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
    if (!(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]();
  });
}

function startTimeline() {
  const used = kinds.map((_, kind) => data.replicas.some((replica) =>
    replica.actions.some((actions) => actions.some((action) => action[0] === kind && action[4] > action[3]))));
  legend("timeline-legend", kinds.filter((_, kind) => used[kind]).map(([letter, what, name]) =>
    [name, `${letter} ${what}`]));
  const bars = data.replicas[0].actions.reduce((sum, actions) => sum + actions.length, 0);
  by("timeline-note").textContent = `${data.schedule}, ${bars} actions, as simulated. A bar's number is its ` +
    "micro-batch" + (data.chunkRank.length > data.stages.length ? "; pale bars are of a stage's second chunk" : "") +
    ". Drag to move, + and − or Ctrl and wheel to zoom, double-click for the whole step.";
  by("timeline").setAttribute("aria-label",
    `Timeline of one step of ${seconds(end())} on ${data.stages.length} stages; the table above has their idle shares`);
  data.replicas.forEach((_, replica) => by("replica").append(element("option", { value: replica }, String(replica))));
  by("replica-pick").hidden = data.replicas.length === 1;
  by("replica").addEventListener("change", (event) => {
    view.replica = Number(event.target.value);
    look(0, end());
  });
  by("zoom-in").addEventListener("click", () => zoom(0.6));
  by("zoom-out").addEventListener("click", () => zoom(1 / 0.6));
  by("zoom-all").addEventListener("click", () => look(0, end()));
  followPointer(by("timeline"));
}
