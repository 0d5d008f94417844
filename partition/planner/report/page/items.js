// Describes the action or the blank under the pointer, or the one that keys have chosen.
/// The text of each cause of a blank, in the order of the causes' numbers.
const blankText = [
  (from) => "idle until its first micro-batch is there" + (from < 0 ? "" : `, from stage ${from}`),
  (from) => `idle while stage ${from} computes what it needs`,
  (from) => (from < 0 ? "idle while it sends a message" : `idle while the message of stage ${from} is under way`),
  () => "adds gradients over replicas, and computes nothing beside",
  () => "idle until the other stages have ended",
];

const describeTime = (from, to) => `${seconds(to - from)}: ${seconds(from)} to ${seconds(to)}`;

function describeAction(stage, [kind, chunk, microBatch, from, to]) {
  const what = kind < 4 ? `${kinds[kind][1]} of micro-batch ${microBatch}` : kinds[kind][1];
  const where = data.chunkRank.length > data.stages.length && kind < 5 ? `, chunk ${chunk}` : "";
  return `${kinds[kind][0]} · ${what}\n${rowName(stage)}${where}\n${describeTime(from, to)}`;
}

function describeBlank(stage, [from, to, cause, other]) {
  return `${blankText[cause](other)}\n${rowName(stage)}\n${describeTime(from, to)}`;
}

/// Returns the items of a stage's row, sorted by start: [from, to, text]. Reductions beside passes are left out.
function itemsOf(stage) {
  const { actions, blanks } = data.replicas[view.replica];
  return [
    ...actions[stage].filter(([kind, , , from, to]) => kind !== 4 && to > from)
      .map((action) => [action[3], action[4], () => describeAction(stage, action)]),
    ...blanks[stage].map((blank) => [blank[0], blank[1], () => describeBlank(stage, blank)]),
  ].sort((a, b) => a[0] - b[0]);
}

/// Returns the text of the item under the pointer, or null. Passes come first, then blanks, then items at most a
/// pixel away. At the foot of a row, where reductions are drawn, they come before all others.
function textAt(event) {
  const box = by("timeline").getBoundingClientRect(), x = event.clientX - box.left;
  const row = (event.clientY - box.top - axis) / rowHeight(), stage = Math.floor(row);
  if (x < leftEdge() || stage < 0 || stage >= data.stages.length) return null;
  const time = view.from + (x - leftEdge()) / (box.width - leftEdge() - 8) * (view.to - view.from);
  const near = (view.to - view.from) / (box.width - leftEdge());
  const { actions, blanks } = data.replicas[view.replica];
  const action = (reduces, reach) => actions[stage].find(([kind, , , from, to]) =>
    (kind === 4) === reduces && time >= from - reach && time <= to + reach);
  const reduction = row - stage > 0.62 ? action(true, 0) : undefined;
  const blank = blanks[stage].find(([from, to]) => time >= from && time < to);
  const hit = reduction || action(false, 0);
  if (hit === undefined && blank !== undefined) return describeBlank(stage, blank);
  const found = hit || action(false, near);
  return found === undefined ? null : describeAction(stage, found);
}

// The item that keys have chosen; a place of -1 means none yet.
const chosen = { stage: 0, place: -1 };

/// Moves the choice within its row, or to another row at the same time, and scrolls it into view.
function choose(stages, places) {
  const before = chosen.place < 0 ? null : itemsOf(chosen.stage)[chosen.place];
  if (before !== null) chosen.stage = Math.max(0, Math.min(data.stages.length - 1, chosen.stage + stages));
  const items = itemsOf(chosen.stage);
  if (items.length === 0) return;
  const then = before === null ? view.from : (before[0] + before[1]) / 2;
  const same = Math.max(0, items.findLastIndex(([from]) => from <= then));
  const next = stages !== 0 || before === null ? same : chosen.place + places;
  chosen.place = Math.max(0, Math.min(items.length - 1, next));
  const [from, to, text] = items[chosen.place], span = view.to - view.from;
  if (from < view.from || to > view.to) look((from + to - span) / 2, (from + to + span) / 2);
  else drawTimeline();
  const canvas = by("timeline"), box = canvas.getBoundingClientRect();
  const x = (xOf(canvas, Math.max(from, view.from)) + xOf(canvas, Math.min(to, view.to))) / 2;
  showTip({ clientX: box.left + x, clientY: box.top + axis + (chosen.stage + 1) * rowHeight() - 8 }, text());
}

function chooseNothing() {
  chosen.place = -1;
  showTip(null, null);
  drawTimeline();
}

function drawChosen(drawing, canvas) {
  if (chosen.place < 0) return;
  const item = itemsOf(chosen.stage)[chosen.place];
  if (item === undefined) return;
  const x = xOf(canvas, item[0]), row = rowHeight();
  drawing.strokeStyle = colour("limit");
  drawing.lineWidth = 2;
  drawing.strokeRect(x, axis + chosen.stage * row + 1, Math.max(3, xOf(canvas, item[1]) - x), row - 2);
}
