// Draws the rows of the timeline: passes or their shares, messages, and the critical path.
/// Draws each pass as a bar with the number of its micro-batch.
function drawBars(drawing, canvas, actions, top, row) {
  const fills = kinds.map(([, , name]) => colour(name)), onBar = colour("on-bar"), ink = colour("ink");
  drawing.textAlign = "center";
  for (const [kind, chunk, microBatch, from, to] of actions) {
    if (to < view.from || from > view.to) continue;
    const x = xOf(canvas, from), width = Math.max(xOf(canvas, to) - x, 0.4);
    const gap = width > 4 ? 0.5 : 0, second = chunk >= data.stages.length;
    drawing.globalAlpha = second ? 0.68 : 1;
    drawing.fillStyle = fills[kind];
    const low = kind === 4 ? row * 0.62 : 0;
    drawing.fillRect(x + gap, top + 1 + low, width - 2 * gap, row - 2 - low);
    drawing.globalAlpha = 1;
    if (kind < 4 && width > 8 * String(microBatch).length + 4) {
      drawing.fillStyle = second ? ink : onBar;
      drawing.fillText(microBatch, x + width / 2, top + row / 2 + 0.5);
    }
  }
}

/// Returns means over `reach` neighbours on either side. They hide the pattern that pixels and passes would make.
function smoothed(values, reach) {
  const sums = new Float64Array(values.length + 1);
  values.forEach((value, i) => { sums[i + 1] = sums[i] + value; });
  return values.map((_, i) => {
    const from = Math.max(0, i - reach), to = Math.min(values.length, i + reach + 1);
    return (sums[to] - sums[from]) / (to - from);
  });
}

/// Draws each kind's share of every pixel column. This is used if bars would be too narrow.
function drawShares(drawing, canvas, actions, top, row) {
  const left = leftEdge(), columns = Math.max(1, Math.floor(canvas.clientWidth - left - 8));
  const scale = columns / (view.to - view.from), sums = kinds.map(() => new Float32Array(columns));
  for (const [kind, , , start, stop] of actions) {
    if (kind > 3 && kind !== 5) continue;
    const from = Math.max(0, (start - view.from) * scale), to = Math.min(columns, (stop - view.from) * scale);
    for (let c = Math.floor(from); c < to; c++) sums[kind][c] += Math.min(to, c + 1) - Math.max(from, c);
  }
  const fills = kinds.map(([, , name]) => colour(name)), floor = top + row - 1;
  const reach = Math.ceil(3 * passWidth(canvas)), means = sums.map((values) => smoothed(values, reach));
  for (let c = 0; c < columns; c++) {
    let y = floor;
    kinds.forEach((_, kind) => {
      const height = Math.min(1, means[kind][c]) * (row - 2);
      if (height < 0.05) return;
      drawing.fillStyle = fills[kind];
      drawing.fillRect(left + c, y - height, 1, height);
      y -= height;
    });
  }
}

/// The median seconds of each replica's passes.
const middlePass = data.replicas.map((replica) => {
  const lengths = replica.actions.flat().filter(([kind, , , from, to]) => kind < 4 && to > from)
    .map(([, , , from, to]) => to - from).sort((a, b) => a - b);
  return lengths.length === 0 ? Infinity : lengths[lengths.length >> 1];
});

/// Returns the width of the median pass in pixels.
const passWidth = (canvas) =>
  middlePass[view.replica] / (view.to - view.from) * (canvas.clientWidth - leftEdge() - 8);

const rowMiddle = (stage) => axis + (stage + 0.5) * rowHeight();

/// Returns [sending stage, time, receiving stage, time] for each message, from the end of the pass that makes it to
/// the start of the pass that consumes it.
function messagesOf(replica) {
  const makers = new Map(), list = [];
  const name = (forward, chunk, microBatch) => `${forward} ${chunk} ${microBatch}`;
  replica.actions.forEach((actions, stage) => actions.forEach(([kind, chunk, microBatch, , to]) => {
    if (kind < 4 && kind !== 2) makers.set(name(kind === 0, chunk, microBatch), [stage, to]);
  }));
  replica.actions.forEach((actions, stage) => actions.forEach(([kind, chunk, microBatch, from]) => {
    if (kind > 3 || kind === 2) return;
    const maker = makers.get(name(kind === 0, kind === 0 ? chunk - 1 : chunk + 1, microBatch));
    if (maker !== undefined && maker[0] !== stage) list.push([maker[0], maker[1], stage, from]);
  }));
  return list;
}

function drawArrow(drawing, [x, y], [toX, toY]) {
  const angle = Math.atan2(toY - y, toX - x), head = 5;
  drawing.beginPath();
  drawing.moveTo(x, y);
  drawing.lineTo(toX, toY);
  for (const side of [0.4, -0.4]) {
    drawing.moveTo(toX, toY);
    drawing.lineTo(toX - head * Math.cos(angle + side), toY - head * Math.sin(angle + side));
  }
  drawing.stroke();
}

function drawMessages(drawing, canvas) {
  drawing.strokeStyle = colour("ink");
  drawing.globalAlpha = 0.45;
  drawing.lineWidth = 1;
  for (const [maker, made, taker, taken] of messagesOf(data.replicas[view.replica])) {
    if (taken < view.from || made > view.to) continue;
    const down = (taker > maker ? 0.3 : -0.3) * rowHeight();
    drawArrow(drawing, [xOf(canvas, made), rowMiddle(maker) + down], [xOf(canvas, taken), rowMiddle(taker) - down]);
  }
  drawing.globalAlpha = 1;
}

function drawPath(drawing, canvas) {
  const { actions, critical } = data.replicas[view.replica], row = rowHeight();
  drawing.strokeStyle = colour("ink");
  drawing.lineWidth = 2;
  drawing.beginPath();
  critical.forEach(([stage, place], i) => {
    const [kind, , , from, to] = actions[stage][place], y = rowMiddle(stage);
    if (i === 0) drawing.moveTo(xOf(canvas, from), y);
    drawing.lineTo(xOf(canvas, from), y);
    // Passes with a number are outlined, not struck through.
    if (kind < 4 && xOf(canvas, to) - xOf(canvas, from) > summed) drawing.moveTo(xOf(canvas, to), y);
    else drawing.lineTo(xOf(canvas, to), y);
  });
  drawing.stroke();
  drawing.lineWidth = 1.5;
  for (const [stage, place] of critical) {
    const [kind, , , from, to] = actions[stage][place], width = xOf(canvas, to) - xOf(canvas, from);
    if (kind < 4 && width > summed) drawing.strokeRect(xOf(canvas, from) + 1, axis + stage * row + 1.5, width - 2, row - 3);
  }
}
