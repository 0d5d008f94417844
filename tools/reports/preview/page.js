// Draws each utterance. All pictures of one share a time axis, as wide as its longest one.
const utterances = [...document.querySelectorAll("script.utterance")].map((part) => JSON.parse(part.textContent));
const axisHeight = 20;

/// Returns an element of SVG.
function drawn(kind, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/// Returns the outline of a waveform from [least, most] of each column. Ordinates are in shares of `peak`.
function outline(columns, peak) {
  const y = (value) => (50 - 48 * value / peak).toFixed(1);
  const top = columns.map(([, most], x) => `${x} ${y(most)} ${x + 1} ${y(most)}`);
  const bottom = columns.map(([least], x) => `${x + 1} ${y(least)} ${x} ${y(least)}`).reverse();
  return `M${top.join(" ")} ${bottom.join(" ")}Z`;
}

function soundRow(name, sound, share, peak) {
  const picture = drawn("svg", { viewBox: `0 0 ${sound.columns.length} 100`, preserveAspectRatio: "none", role: "img",
    "aria-label": `Waveform, ${name}`, style: `width: ${(100 * share).toFixed(3)}%` });
  picture.append(drawn("path", { d: outline(sound.columns, peak) }));
  return element("div", { class: `row ${name}` },
    element("p", {}, element("b", {}, name), `${digits(sound.seconds)} s`, element("br"), `peak ${digits(sound.peak, 3)}`),
    element("div", {}, picture), element("audio", { controls: "", preload: "none", src: sound.file, "aria-label": `Listen, ${name}` }));
}

const channelsOf = (text) => text.match(/\w\w/g).map((pair) => parseInt(pair, 16));

/// Returns colours for the shares 0 … 255 of the scale.
function palette() {
  const [low, middle, high] = ["low", "middle", "high"].map((name) => channelsOf(colour(name)));
  return Array.from({ length: 256 }, (_, i) => {
    const [from, to, share] = i < 128 ? [low, middle, i / 128] : [middle, high, (i - 128) / 127];
    return from.map((value, k) => Math.round(value + share * (to[k] - value)));
  });
}

/// Returns the numbers of a picture, frame after frame.
function numbers(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

const masked = (masks, at) => masks.some(([first, count]) => at >= first && at < first + count);

/// Returns the numbers between which colours change: 98 % of those that no mask covers.
function scaleOf(picture) {
  const frames = Array.from({ length: picture.frames }, (_, t) => !masked(picture.timeMasks, t));
  const channels = Array.from({ length: picture.channels }, (_, c) => !masked(picture.channelMasks, c));
  const step = Math.max(1, Math.floor(picture.numbers.length / 20000)), seen = [];
  for (let i = 0; i < picture.numbers.length; i += step) {
    if (frames[Math.floor(i / picture.channels)] && channels[i % picture.channels]) seen.push(picture.numbers[i]);
  }
  seen.sort((a, b) => a - b);
  const at = (share) => seen[Math.round(share * (seen.length - 1))];
  return seen.length === 0 ? [0, 1] : [at(0.01), at(0.99)];
}

/// Returns a canvas of one pixel for each number, with channel 0 at the bottom.
function pixels(picture) {
  const canvas = document.createElement("canvas");
  canvas.width = picture.frames;
  canvas.height = picture.channels;
  const drawing = canvas.getContext("2d"), image = drawing.createImageData(canvas.width, canvas.height);
  const colours = palette(), [low, high] = picture.scale;
  for (let t = 0; t < picture.frames; ++t) for (let c = 0; c < picture.channels; ++c) {
    const share = (picture.numbers[t * picture.channels + c] - low) / (high - low || 1);
    const at = 4 * ((picture.channels - 1 - c) * picture.frames + t);
    image.data.set(colours[Math.max(0, Math.min(255, Math.round(255 * share)))], at);
    image.data[at + 3] = 255;
  }
  drawing.putImageData(image, 0, 0);
  return canvas;
}

/// Fills a rectangle with lines and draws its edge.
function hatch(drawing, x, y, width, height) {
  drawing.save();
  drawing.beginPath();
  drawing.rect(x, y, width, height);
  drawing.clip();
  drawing.strokeStyle = colour("mask");
  drawing.globalAlpha = 0.75;
  for (let at = x - height - (x + y) % 7; at < x + width; at += 7) {
    drawing.beginPath();
    drawing.moveTo(at, y + height);
    drawing.lineTo(at + height, y);
    drawing.stroke();
  }
  drawing.restore();
  drawing.strokeStyle = colour("mask");
  drawing.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 1), Math.max(1, height - 1));
}

function drawFeatures(canvas, picture, total) {
  const height = Math.max(96, Math.min(200, 2 * picture.channels));
  const drawing = context(canvas, height + axisHeight), wide = canvas.clientWidth;
  const width = wide * picture.frames * picture.hop / total;
  drawing.imageSmoothingEnabled = width < picture.frames;
  drawing.drawImage(pixels(picture), 0, 0, width, height);
  const x = (frame) => width * frame / picture.frames, y = (channel) => height * (1 - channel / picture.channels);
  for (const [first, count] of picture.channelMasks) hatch(drawing, 0, y(first + count), width, y(first) - y(first + count));
  for (const [first, count] of picture.timeMasks) hatch(drawing, x(first), 0, x(first + count) - x(first), height);
  if (picture.warp !== null) {
    drawing.strokeStyle = colour("mask");
    drawing.lineWidth = 2;
    drawing.setLineDash([5, 4]);
    drawing.beginPath();
    drawing.moveTo(x(picture.warp[1]), 0);
    drawing.lineTo(x(picture.warp[1]), height);
    drawing.stroke();
  }
  drawing.fillStyle = colour("soft");
  for (const time of ticks(0, total, Math.max(2, Math.floor(wide / 110)))) {
    const text = `${digits(time, 3)} s`, half = drawing.measureText(text).width / 2;
    drawing.fillRect(wide * time / total, height, 1, 4);
    drawing.fillText(text, Math.max(0, Math.min(wide - 2 * half, wide * time / total - half)), height + 12);
  }
  canvas.onmousemove = (event) => {
    const t = Math.floor(event.offsetX / width * picture.frames), c = Math.floor((1 - event.offsetY / height) * picture.channels);
    const inside = t >= 0 && t < picture.frames && c >= 0 && c < picture.channels;
    showTip(event, inside ? `${digits(t * picture.hop, 4)} s, channel ${c}: ${picture.numbers[t * picture.channels + c]}` : null);
  };
  canvas.onmouseleave = (event) => showTip(event, null);
}

function featuresLegend(picture) {
  const entry = (kind, text) => element("li", {}, element("i", { class: kind }), text);
  const [low, high] = picture.scale.map((number) => digits(number, 3));
  const entries = [entry("scale", `${low} to ${high}`)];
  if (picture.channelMasks.length + picture.timeMasks.length > 0) entries.push(entry("hatch", "masked: 0"));
  if (picture.warp !== null) entries.push(entry("moved", `this was frame ${picture.warp[0]} before the time warp`));
  return element("ul", { class: "legend" }, ...entries);
}

function featuresRow(picture, total) {
  picture.numbers = numbers(picture.base64);
  picture.scale = scaleOf(picture);
  const canvas = element("canvas", { role: "img", "aria-label": "Features over time, with masks" });
  redraws.push(() => drawFeatures(canvas, picture, total));
  return element("div", { class: "row features" },
    element("p", {}, element("b", {}, "features"), `${picture.frames} frames`, element("br"), `${picture.channels} channels`),
    canvas, featuresLegend(picture));
}

function labelsLine(labels) {
  const shown = labels.map((label) => element("span", {}, label === " " ? "␣" : label));
  return element("p", { class: "labels" }, `${labels.length} ${labels.length === 1 ? "label" : "labels"} `, ...shown);
}

function section(utterance, place) {
  const { recorded, heard, features } = utterance;
  const sounds = recorded === null ? [["heard", heard]] : [["recorded", recorded], ["heard", heard]];
  const total = Math.max(...sounds.map(([, sound]) => sound.seconds), features === null ? 0 : features.frames * features.hop);
  const peak = Math.max(1e-6, ...sounds.map(([, sound]) => sound.peak));
  const effects = utterance.effects.map(([name, value]) => element("li", {}, element("b", {}, name), value));
  return element("section", { class: "utterance", "aria-labelledby": `u${place}` },
    element("h2", { id: `u${place}` }, utterance.text === "" ? "(no text)" : utterance.text),
    element("p", { class: "note" }, [utterance.name, utterance.where, utterance.audio].join(" · ")),
    element("ul", { class: "effects" },
      ...(effects.length > 0 ? effects : [element("li", { class: "plain" }, "nothing is changed in this epoch")])),
    ...sounds.map(([name, sound]) => soundRow(name, sound, sound.seconds / total, peak)),
    features === null ? null : featuresRow(features, total),
    utterance.trainedText === utterance.text ? null : element("p", { class: "labels" }, `trained as: ${utterance.trainedText}`),
    labelsLine(utterance.labels));
}

const redraws = [];
by("title").textContent = data.title;
document.title = `penstock data preview: ${data.title}`;
by("headline").textContent = data.headline;
for (const [name, value] of data.facts) {
  by("facts").append(element("div", value.length > 60 ? { class: "wide" } : {}, element("dt", {}, name), element("dd", {}, value)));
}
by("utterances").append(...utterances.map(section));
const redraw = () => redraws.forEach((draw) => draw());
redraw();
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
