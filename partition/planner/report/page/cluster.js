// Draws the nodes and devices, with the stage and the replica of each device.
function stageColour(stage) {
  const count = Math.max(1, data.stages.length - 1);
  return `hsl(${(215 + 250 * stage / (count + 1)) % 360} 48% 52%)`;
}

function deviceTile(device) {
  if (device.stage < 0) {
    return element("div", { class: "device free", title: `${device.name}, ${device.kind}: not used` }, "–");
  }
  const stage = data.stages[device.stage];
  const share = stage.limit === null ? null : stage.bytes / device.usable;
  const text = `${device.name}, ${device.kind}\nstage ${device.stage}, replica ${device.replica}\n` +
    `${stage.layers.join(", ")}\n${bytes(stage.bytes)}` + (share === null ? "" : `, ${percent(share)} of its limit`);
  return element("div", { class: "device", id: `device-${data.devices.indexOf(device)}`, style: `border-left-color: ${stageColour(device.stage)}`, title: text },
    element("b", {}, `s${device.stage}`), ` r${device.replica}`, share === null ? null : meter([["m0", share]]));
}

function startCluster() {
  const used = data.devices.filter((device) => device.stage >= 0).length;
  by("cluster-note").textContent = `${used} of ${data.devices.length} devices. s: stage, r: replica; the bar is ` +
    "the share of the memory that the plan may use. Lines are the busiest links, the wider the longer they are busy: " +
    "blue for activations and their gradients, violet for gradients added over replicas.";
  data.nodes.forEach((name, node) => {
    const devices = data.devices.filter((device) => device.node === node);
    const kindsOf = [...new Set(devices.map((device) => device.kind))].filter((kind) => kind !== "").join(", ");
    by("cluster").append(element("div", { class: "node" },
      element("h3", {}, name + (kindsOf === "" ? "" : ` · ${kindsOf}`)),
      element("div", { class: "devices" }, ...devices.map(deviceTile))));
  });
}

/// Draws the links as curves between devices. The longer a link is busy, the wider is its curve.
function drawLinks() {
  const svg = by("links"), box = svg.getBoundingClientRect(), most = 48;
  const curves = [];
  const middle = (device) => {
    const tile = by(`device-${device}`);
    if (tile === null) return null;
    const place = tile.getBoundingClientRect();
    return [place.left + place.width / 2 - box.left, place.top + place.height / 2 - box.top];
  };
  for (const link of data.traffic.slice(0, most)) {
    const from = middle(link.from), to = middle(link.to);
    if (from === null || to === null) continue;
    const across = [(to[1] - from[1]) * 0.12, (from[0] - to[0]) * 0.12];  // shows the two directions side by side
    const control = [(from[0] + to[0]) / 2 + across[0], (from[1] + to[1]) / 2 + across[1]];
    const name = link.pipeline >= link.reduction ? "forward" : "reduction";
    curves.push(`<path d="M${from} Q${control} ${to}" fill="none" stroke="var(--${name})" stroke-opacity="0.55" ` +
      `stroke-width="${1 + 6 * Math.min(1, link.seconds / data.step)}"/>`);
  }
  svg.innerHTML = curves.join("");
}

function startTraffic() {
  const shown = data.traffic.slice(0, 16);
  by("traffic-note").textContent = data.traffic.length === 0
    ? "Nothing crosses a link that the cluster describes."
    : "What each link carries in a step, one way, and the share of the step that this takes it alone. A bar's whole " +
      "width is a step" +
      (data.traffic.length > shown.length ? `; the busiest ${shown.length} of ${data.traffic.length}.` : ".");
  if (shown.length === 0) return;
  const share = (link, part) => link.seconds / data.step * part / (link.pipeline + link.reduction);
  table("traffic", [["from"], ["to"], ["a step", "n"], ["link", "n"], ["busy", "n"], [""]],
    shown.map((link) => element("tr", {}, cell(deviceName(link.from), "nowrap"), cell(deviceName(link.to), "nowrap"),
      cell(bytes(link.pipeline + link.reduction), "n"), cell(`${digits(link.gbPerS)} GB/s`, "n"),
      cell(percent(link.seconds / data.step), "n"),
      cell(meter([["forward", share(link, link.pipeline)], ["reduction", share(link, link.reduction)]])))));
  legend("traffic-legend", [["forward", "activations and their gradients"],
    ["reduction", "gradients added over replicas"]]);
}
