// Draws the bytes in use over time on every stage, and its limit.
const memoryRow = () => Math.max(26, Math.min(64, 1100 / data.stages.length));

/// Returns the top of a stage's scale: its limit, unless the limit is far above the bytes in use.
function ceiling(stage) {
  const { bytes: allocated, limit } = data.stages[stage];
  return limit !== null && limit < 2.5 * allocated ? Math.max(limit, allocated) * 1.04 : allocated * 1.15;
}

function drawStageMemory(drawing, canvas, stage, top, height) {
  const points = data.replicas[view.replica].memory[stage], most = ceiling(stage), floor = top + height;
  const y = (value) => floor - value / most * (height - 6);
  drawing.fillStyle = colour("used");
  drawing.beginPath();
  let x = xOf(canvas, 0), level = points.length > 0 ? points[0][1] : 0;
  drawing.moveTo(x, floor);
  for (const [time, value] of points) {
    x = xOf(canvas, time);
    drawing.lineTo(x, y(level));
    drawing.lineTo(x, y(value));
    level = value;
  }
  x = xOf(canvas, end());
  drawing.lineTo(x, y(level));
  drawing.lineTo(x, floor);
  drawing.fill();
  const line = (value, name, dashes) => {
    drawing.strokeStyle = colour(name);
    drawing.setLineDash(dashes);
    drawing.beginPath();
    drawing.moveTo(leftEdge(), y(value));
    drawing.lineTo(canvas.clientWidth - 8, y(value));
    drawing.stroke();
    drawing.setLineDash([]);
  };
  line(data.stages[stage].bytes, "soft", [3, 3]);
  const limit = data.stages[stage].limit;
  if (limit !== null && limit <= most) line(limit, "limit", []);
}

function drawMemory() {
  const canvas = by("memory"), row = memoryRow(), height = axis + row * data.stages.length + 4;
  const drawing = context(canvas, height);
  drawAxis(drawing, canvas, height);
  data.stages.forEach((stage, k) => {
    const top = axis + k * row;
    drawing.save();
    drawing.beginPath();
    drawing.rect(leftEdge(), top, canvas.clientWidth - leftEdge() - 7, row);
    drawing.clip();
    drawStageMemory(drawing, canvas, k, top, row - 4);
    drawing.restore();
    drawing.textAlign = "left";
    drawing.fillStyle = colour("ink");
    const middle = top + row / 2 - 2;
    drawing.fillText(rowLabel(k), 0, row > 36 ? middle - 8 : middle, leftEdge() - 10);
    drawing.fillStyle = colour("soft");
    const share = stage.limit === null ? "" : ` of ${bytes(stage.limit)}`;
    if (row > 36) drawing.fillText(bytes(stage.bytes) + (isNarrow() ? "" : share), 0, middle + 8, leftEdge() - 10);
  });
}

function startMemory() {
  const far = data.stages.some((stage) => stage.limit === null || stage.limit >= 2.5 * stage.bytes);
  by("memory-note").textContent = (data.steps > 1 ? "Of the step above. " : "") + "Filled: in use. Dashed: what the plan takes, at most. Red: the device's " +
    "limit" + (far ? ", where it is near enough to show" : "") + ". Each stage has its own scale.";
  by("memory").addEventListener("pointermove", (event) => {
    const stage = Math.floor((event.offsetY - axis) / memoryRow());
    const time = view.from + (event.offsetX - leftEdge()) /
      (by("memory").clientWidth - leftEdge() - 8) * (view.to - view.from);
    if (event.offsetX < leftEdge() || stage < 0 || stage >= data.stages.length) return showTip(event, null);
    const before = data.replicas[view.replica].memory[stage].filter(([at]) => at <= time);
    if (before.length === 0) return showTip(event, null);
    const limit = data.stages[stage].limit;
    showTip(event, `${rowName(stage)} at ${seconds(time)}\n${bytes(before[before.length - 1][1])} in use\n` +
      `${bytes(data.stages[stage].bytes)} planned` + (limit === null ? "" : ` of ${bytes(limit)}`));
  });
  by("memory").addEventListener("pointerleave", (event) => showTip(event, null));
}
