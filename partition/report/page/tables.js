// Facts, stages and alternatives; then everything is drawn.
function startStages() {
  const kindsOf = data.stages[0].memory.map(([kind]) => kind);
  const shown = (devices) => devices.slice(0, 3).map(deviceName).join(" ") +
    (devices.length > 3 ? ` +${devices.length - 3}` : "");
  const again = data.stages.some((stage) => stage.again.length > 0);
  table("stages", [["stage", "n"], ["layers"], ...(again ? [["recomputed"]] : []), ["devices"], ["time a step", "n"], ["idle", "n"], ["memory", "n"],
    ["of", "n"], [""]],
    data.stages.map((stage, k) => {
      const scale = stage.limit === null ? Math.max(...data.stages.map((other) => other.bytes)) : stage.limit;
      const parts = stage.memory.map(([kind, value]) => [`m${kindsOf.indexOf(kind) % 8}`, value / scale]);
      const kindsText = stage.memory.map(([kind, value]) => `${kind} ${bytes(value)}`).join("\n");
      const row = element("tr", { title: kindsText }, cell(String(k), "n"), cell(stage.layers.join(" and ")),
        ...(again ? [cell(stage.again.join(", "))] : []),
        cell(shown(stage.devices), "nowrap"), cell(seconds(stage.seconds), "n"), cell(percent(stage.idle), "n"),
        cell(bytes(stage.bytes), "n"), cell(stage.limit === null ? "no limit" : bytes(stage.limit), "n"),
        cell(meter(parts)));
      return row;
    }));
  legend("memory-legend", kindsOf.map((kind, i) => [`m${i % 8}`, kind]));
}

function startAlternatives() {
  const most = Math.max(...data.alternatives.map((other) => other.step));
  const audio = data.alternatives.some((other) => other.speed > 0);
  by("alternatives-note").textContent = "The plan, and what was considered besides, with the time of a step that was " +
    "predicted, could not be beaten (≥), or follows from the closed form alone, of what does not fit (≈)" +
    (data.leftOut > 0 ? `; ${data.leftOut} more are not shown, of which none does better.` : ".");
  table("alternatives", [["layout"], ["step", "n"], ...(audio ? [["audio s/s", "n"]] : []), [""], ["why not"]],
    data.alternatives.map((other) => element("tr", { class: other.why === "" ? "chosen" : "" }, cell(other.what),
      cell(other.step > 0 ? other.about + seconds(other.step) : "", "n"),
      ...(audio ? [cell(other.speed > 0 ? digits(other.speed) : "", "n")] : []),
      cell(meter([[other.why === "" ? "forward" : "other", most > 0 ? other.step / most : 0]])),
      cell(other.why === "" ? "the plan" : other.why, "small"))));
}

by("title").textContent = data.title;
document.title = `penstock plan: ${data.title}`;
for (const [name, value] of data.facts) {
  by("facts").append(element("div", value.length > 60 ? { class: "wide" } : {}, element("dt", {}, name),
    element("dd", {}, value)));
}
startStages();
startTimeline();
startMemory();
startCluster();
startTraffic();
startAlternatives();
look(0, end());
addEventListener("resize", () => look(view.from, view.to));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => look(view.from, view.to));
