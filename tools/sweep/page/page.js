// Marks the line and the row of the run under the pointer, and shows its values beside the pointer.
const marked = (run) => document.querySelectorAll(`g[data-run="${run}"], tr[data-run="${run}"]`);
for (const part of document.querySelectorAll("g[data-run], tr[data-run]")) {
  const run = part.dataset.run;
  part.onpointermove = (event) => {
    marked(run).forEach((one) => one.classList.add("shown"));
    showTip(event, part.tagName === "g" ? data.runs[run] : null);
  };
  part.onpointerleave = (event) => {
    marked(run).forEach((one) => one.classList.remove("shown"));
    showTip(event, null);
  };
}
