// Shows the values of a chart's lines at the step under the pointer. Without scripts the charts are all there.
const textOf = (chart, [, , mean, least, most, finite]) =>
  finite === 0 ? "not finite"
    : digits(mean, 5) + chart.unit + (finite > 1 ? ` (${digits(least, 4)} to ${digits(most, 4)}${chart.unit})` : "");

/// Returns the column whose steps are nearest to a step.
function nearest(columns, step) {
  const distance = ([first, last]) => Math.max(first - step, step - last, 0);
  return columns.reduce((best, column) => (distance(column) < distance(best) ? column : best), columns[0]);
}

function tipText(chart, step) {
  const shown = chart.lines.filter((line) => line.columns.length > 0).map((line) => [line, nearest(line.columns, step)]);
  const steps = ([first, last]) => (first === last ? `step ${digits(first, 12)}` : `steps ${digits(first, 12)} to ${digits(last, 12)}`);
  if (shown.length === 1) return `${steps(shown[0][1])}\n${textOf(chart, shown[0][1])}`;
  return shown.map(([line, column]) => `${line.name}, ${steps(column)}: ${textOf(chart, column)}`).join("\n");
}

for (const picture of document.querySelectorAll("svg[data-chart]")) {
  const chart = data.charts[picture.dataset.chart];
  const [left, right, top, bottom] = picture.dataset.plot.split(" ").map(Number);
  const rule = document.createElementNS("http://www.w3.org/2000/svg", "path");
  rule.setAttribute("class", "rule");
  picture.append(rule);
  picture.onpointermove = (event) => {
    const box = picture.getBoundingClientRect();
    const x = (event.clientX - box.left) * picture.viewBox.baseVal.width / box.width;
    const inside = x >= left && x <= right;
    rule.setAttribute("d", inside ? `M${x.toFixed(1)} ${top}V${bottom}` : "");
    const step = chart.first + (x - left) / (right - left) * (chart.last - chart.first);
    showTip(event, inside ? tipText(chart, step) : null);
  };
  picture.onpointerleave = (event) => {
    rule.setAttribute("d", "");
    showTip(event, null);
  };
}
