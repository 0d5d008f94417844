// Fills in the headline, the facts and the tables, and then draws everything.
function startHeadline() {
  by("title").textContent = data.title;
  document.title = `penstock plan: ${data.title}`;
  by("headline").textContent = data.headline;
  const fullest = data.stages.map((stage, k) => [stage.limit === null ? 0 : stage.bytes / stage.limit, stage.bytes, k])
    .sort((a, b) => b[0] - a[0] || b[1] - a[1])[0][2];
  const { bytes: taken, limit } = data.stages[fullest];
  const tiles = [
    data.speed > 0 ? ["speed", `${digits(data.speed)} ×`, `seconds of audio a second; a step takes ${seconds(data.step)}`]
      : ["a step", seconds(data.step), "as simulated"],
    ["memory", bytes(taken), (limit === null ? "" : `of ${bytes(limit)}, `) + `on stage ${fullest}, the fullest`],
    ["what binds", data.binds.startsWith("memory") ? "memory" : (data.binds.match(/stage \d+/) || ["–"])[0], data.binds],
  ];
  by("tiles").append(...tiles.map(([name, value, note]) =>
    element("div", { class: "tile" }, element("dt", {}, name), element("dd", {}, value), element("p", {}, note))));
  by("advice").append(...data.advice.map((sentence) => element("li", {}, sentence)));
  by("advice-box").hidden = data.advice.length === 0;
  for (const [name, value] of data.facts) {
    by("facts").append(element("div", value.length > 60 ? { class: "wide" } : {}, element("dt", {}, name),
      element("dd", {}, value)));
  }
}

function startStages() {
  const shown = (devices) => devices.slice(0, 3).map(deviceName).join(" ") +
    (devices.length > 3 ? ` +${devices.length - 3}` : "");
  const again = data.stages.some((stage) => stage.again.length > 0);
  table("stages", [["stage", "n"], ["layers"], ...(again ? [["recomputed"]] : []), ["devices"], ["computes", "n"], ["idle", "n"]],
    data.stages.map((stage, k) => element("tr", {}, cell(String(k), "n"), cell(stage.layers.join(" and ")),
      ...(again ? [cell(stage.again.join(", "))] : []), cell(shown(stage.devices), "nowrap"),
      cell(seconds(stage.seconds), "n"), cell(percent(stage.idle), "n"))));
}

// [key, colour, use of the time]
const causes = [
  ["fill", "m4", "idle until the first micro-batch is there"], ["wait", "m7", "idle while another stage computes"],
  ["message", "m2", "idle while a message is under way"], ["reduction", "reduction", "adding gradients over replicas"],
  ["drain", "m3", "idle until the other stages have ended"],
];

function drawCauses() {
  const replica = data.replicas[view.replica], whole = replica.end;
  by("causes").replaceChildren();
  table("causes", [["stage", "n"], ["computes", "n"], ...causes.map(([key]) => [key, "n"]), [""]],
    replica.idle.map((idle, k) => {
      const lost = causes.map(([key]) => idle[key]);
      const busy = Math.max(0, whole - lost.reduce((a, b) => a + b, 0));
      const said = [`computes and updates ${seconds(busy)}`, ...causes.map(([key, , what]) => `${what}: ${seconds(idle[key])}`)];
      return element("tr", { title: said.join("\n") }, cell(String(k), "n"), cell(percent(busy / whole), "n"),
        ...lost.map((value) => cell(value < 5e-4 * whole ? "–" : percent(value / whole), "n")),
        cell(meter([["forward", busy / whole], ...causes.map(([key, name]) => [name, idle[key] / whole])])));
    }));
}

function startCauses() {
  legend("causes-legend", [["forward", "computes and updates"], ...causes.map(([key, name, what]) => [name, `${key}: ${what}`])]);
}

function startBytes() {
  const kindsOf = data.stages[0].memory.map(([kind]) => kind);
  const held = kindsOf.filter((kind, i) => data.stages.some((stage) => stage.memory[i][1] > 0));
  table("bytes", [["stage", "n"], ...held.map((kind) => [kind, "n"]), ["total", "n"], ["of", "n"], [""]],
    data.stages.map((stage, k) => {
      const scale = stage.limit === null ? Math.max(...data.stages.map((other) => other.bytes)) : stage.limit;
      const parts = stage.memory.map(([kind, value]) => [`m${kindsOf.indexOf(kind) % 8}`, value / scale]);
      const said = stage.memory.map(([kind, value]) => `${kind} ${bytes(value, 4)}, ${percent(value / stage.bytes)}`);
      return element("tr", { title: said.join("\n") }, cell(String(k), "n"),
        ...stage.memory.filter(([kind]) => held.includes(kind)).map(([, value]) => cell(value > 0 ? bytes(value) : "–", "n")),
        cell(bytes(stage.bytes), "n strong"), cell(stage.limit === null ? "no limit" : bytes(stage.limit), "n"),
        cell(meter(parts)));
    }));
  legend("bytes-legend", kindsOf.map((kind, i) => [`m${i % 8}`, kind]).filter(([, kind]) => held.includes(kind)));
}

/// Prevents line breaks within, for example, zb-v, 16 × 64 s or 5 %.
const unbroken = (text) => text.replace(/(\w)-(\w)/g, "$1\u2011$2").replace(/ × /g, "\u00a0×\u00a0")
  .replace(/(\d) (s\b|%|[KMG]iB)/g, "$1\u00a0$2");

function startAlternatives() {
  const most = Math.max(...data.alternatives.map((other) => other.step));
  const audio = data.alternatives.some((other) => other.speed > 0);
  by("alternatives-note").textContent = "The plan, and what was considered besides, with the time of a step that was " +
    "predicted, could not be beaten (≥), or follows from the closed form alone, of what does not fit (≈)" +
    (data.leftOut > 0 ? `; ${data.leftOut} more are not shown, of which none does better.` : ".");
  table("alternatives", [["layout"], ["step", "n"], ...(audio ? [["audio s/s", "n"]] : []), [""], ["why not"]],
    data.alternatives.map((other) => element("tr", { class: other.why === "" ? "chosen" : "" }, cell(unbroken(other.what)),
      cell(other.step > 0 ? other.about + seconds(other.step) : "", "n"),
      ...(audio ? [cell(other.speed > 0 ? digits(other.speed) : "", "n")] : []),
      cell(meter([[other.why === "" ? "forward" : "other", most > 0 ? other.step / most : 0]])),
      cell(other.why === "" ? "the plan" : unbroken(other.why), "small"))));
}

startHeadline();
startStages();
startCauses();
startTimeline();
startBytes();
startMemory();
startCluster();
startTraffic();
startAlternatives();
drawCauses();
look(0, end());
const redraw = () => { look(view.from, view.to); drawLinks(); };
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
