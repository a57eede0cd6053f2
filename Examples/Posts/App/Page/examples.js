// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// A journal to begin with: posts as a person writes them, with pictures that are drawn here.

const tagColors = { hut: "#8a5a2b", lake: "#2f7d8c", summit: "#7a5ba6", weather: "#b3652b" };

const journal = [
  {
    title: "Packed, checked, repacked", tags: ["weather"],
    text: "11.4 kg with water. The forecast promises sun until Thursday, then thunder from the west. Took the light tent and the heavy stove."
  },
  {
    title: "First night at the Karlsee hut", tags: ["hut", "lake"],
    text: "Six beds, four guests, soup for eight. The keeper says the bridge after the second ford is gone since May: stay on the left bank.",
    scene: { sky: ["#f3b58a", "#f8e3c4"], hills: ["#8fa0a8", "#5d7480", "#33505a"], water: true, sun: [0.72, 0.34], seed: 11 }
  },
  {
    title: "The lake at half past five", tags: ["lake"],
    text: "No wind at all. A heron on the far side, and the whole ridge upside down in the water. Sat there until the coffee was cold.",
    scene: { sky: ["#7fb2c8", "#e6f1ee"], hills: ["#9db7bb", "#6d9199", "#2f5d63"], water: true, sun: [0.3, 0.42], seed: 4 }
  },
  {
    title: "Ridge, 2,871 m", tags: ["summit"],
    text: "Three hours up, forty minutes of views, two ibex. Left boot is losing its sole: glue is on the list for the valley.",
    scene: { sky: ["#4f7fb0", "#cfe0ec"], hills: ["#b5c4d1", "#8196a8", "#4c6072"], water: false, sun: [0.8, 0.2], seed: 23 }
  },
  {
    title: "Thunder came a day early", tags: ["weather", "hut"],
    text: "Ran the last kilometre. Everything in the pack is dry except the matches. Cards with two people from Turin until the light went out.",
    scene: { sky: ["#3a4257", "#8b8fa3"], hills: ["#5c6377", "#434a5e", "#272d3d"], water: false, sun: null, seed: 37 }
  },
  {
    title: "Shopping list for the valley", tags: [],
    text: "glue\nmatches\nbread, the dark one\nbatteries for the lamp\npostcard for Ben"
  }
];

/** Numbers from a seed, so that a scene looks the same each time. */
const numbers = seed => () => {
  seed = (seed * 1664525 + 1013904223) % 4294967296;
  return seed / 4294967296;
};

/** A ridge as heights of 0 to 1, by halving and displacing. */
const ridge = (random, roughness) => {
  let heights = [0.4 + random() * 0.3, 0.4 + random() * 0.3];
  let spread = 0.5;
  while (heights.length < 129) {
    heights = heights.flatMap((height, index) => index === 0 ? [height]
      : [(heights[index - 1] + height) / 2 + (random() - 0.5) * spread, height]);
    spread *= roughness;
  }
  return heights;
};

const draw = (context, width, height, scene) => {
  const random = numbers(scene.seed);
  const horizon = height * (scene.water ? 0.62 : 1);
  const sky = context.createLinearGradient(0, 0, 0, horizon);
  sky.addColorStop(0, scene.sky[0]);
  sky.addColorStop(1, scene.sky[1]);
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  if (scene.sun) {
    const [x, y] = [scene.sun[0] * width, scene.sun[1] * height];
    const glow = context.createRadialGradient(x, y, 4, x, y, width * 0.22);
    glow.addColorStop(0, "rgba(255, 250, 230, .95)");
    glow.addColorStop(0.18, "rgba(255, 246, 214, .5)");
    glow.addColorStop(1, "rgba(255, 246, 214, 0)");
    context.fillStyle = glow;
    context.fillRect(0, 0, width, horizon);
  }
  scene.hills.forEach((color, layer) => {
    const base = horizon * (0.72 + layer * 0.11);
    const rise = horizon * (0.42 - layer * 0.1);
    const heights = ridge(random, 0.52 - layer * 0.03);
    context.fillStyle = color;
    context.beginPath();
    context.moveTo(0, horizon);
    heights.forEach((value, index) => context.lineTo(index * width / (heights.length - 1), base - value * rise));
    context.lineTo(width, horizon);
    context.fill();
  });
  if (!scene.water) return;
  // The lake: the picture above it, upside down, darker, with ripples.
  context.save();
  context.translate(0, 2 * horizon);
  context.scale(1, -1);
  context.drawImage(context.canvas, 0, horizon - (height - horizon), width, height - horizon, 0, horizon - (height - horizon), width, height - horizon);
  context.restore();
  context.fillStyle = "rgba(20, 50, 60, .28)";
  context.fillRect(0, horizon, width, height - horizon);
  context.fillStyle = "rgba(255, 255, 255, .10)";
  for (let count = 0; count < 70; count += 1) {
    const y = horizon + 2 + random() * (height - horizon);
    context.fillRect(random() * width, y, 30 + random() * 160 * (y - horizon) / (height - horizon), 1);
  }
};

const picture = (scene, width, height) => {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  draw(canvas.getContext("2d"), width, height, scene);
  return new Promise(resolve => canvas.toBlob(resolve, "image/jpeg", 0.85));
};

/** Saves the journal, oldest post first. `send` is the page's own. */
export const addExamples = async send => {
  const tags = {};
  for (const [name, color] of Object.entries(tagColors)) {
    const tag = await send("POST", "tags", { name, color });
    if (!tag) return;
    tags[name] = tag.id;
  }
  for (const entry of journal) {
    const saved = await send("POST", "posts", { title: entry.title, content: entry.text });
    if (!saved) return;
    const path = `posts/${encodeURIComponent(saved.post.id)}`;
    for (const name of entry.tags) await send("PUT", `${path}/tags/${encodeURIComponent(tags[name])}`);
    if (!entry.scene) continue;
    const small = await picture(entry.scene, 240, 160);
    const query = new URLSearchParams({ name: `${entry.title}.jpg`, thumbnail: small.size });
    await send("POST", `${path}/attachments?${query}`, new Blob([small, await picture(entry.scene, 1200, 800)]), "application/octet-stream");
  }
};
