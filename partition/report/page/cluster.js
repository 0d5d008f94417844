// Nodes, devices, and which stage and replica each has.
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
  return element("div", { class: "device", style: `border-left-color: ${stageColour(device.stage)}`, title: text },
    element("b", {}, `s${device.stage}`), ` r${device.replica}`, share === null ? null : meter([["m0", share]]));
}

function startCluster() {
  const used = data.devices.filter((device) => device.stage >= 0).length;
  by("cluster-note").textContent = `${used} of ${data.devices.length} devices. s: stage, r: replica; the bar is ` +
    "the share of the memory that the plan may use.";
  data.nodes.forEach((name, node) => {
    const devices = data.devices.filter((device) => device.node === node);
    const kindsOf = [...new Set(devices.map((device) => device.kind))].filter((kind) => kind !== "").join(", ");
    by("cluster").append(element("div", { class: "node" },
      element("h3", {}, name + (kindsOf === "" ? "" : ` · ${kindsOf}`)),
      element("div", { class: "devices" }, ...devices.map(deviceTile))));
  });
}

function startTraffic() {
  const shown = data.traffic.slice(0, 16);
  by("traffic-note").textContent = data.traffic.length === 0
    ? "Nothing crosses a link that the cluster describes."
    : "What each link carries in a step, one way, and the share of the step that this takes it alone" +
      (data.traffic.length > shown.length ? `; the busiest ${shown.length} of ${data.traffic.length}.` : ".");
  if (shown.length === 0) return;
  const most = shown[0].seconds, share = (link, part) => link.seconds / most * part / (link.pipeline + link.reduction);
  table("traffic", [["from"], ["to"], ["a step", "n"], ["link", "n"], ["busy", "n"], [""]],
    shown.map((link) => element("tr", {}, cell(deviceName(link.from), "nowrap"), cell(deviceName(link.to), "nowrap"),
      cell(bytes(link.pipeline + link.reduction), "n"), cell(`${digits(link.gbPerS)} GB/s`, "n"),
      cell(percent(link.seconds / data.step), "n"),
      cell(meter([["forward", share(link, link.pipeline)], ["reduction", share(link, link.reduction)]])))));
  legend("traffic-legend", [["forward", "activations and their gradients"],
    ["reduction", "gradients added over replicas"]]);
}
