// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// The page of one device. It asks nothing repeatedly: the device tells it what changed, over one stream of events.
// Every text that a person typed goes into the page as text, never as markup.

import { showBoard } from "./board.js";
import { showConflicts } from "./conflicts.js";
import { byID, element, notice, replaceIfChanged, send } from "./dom.js";
import { addExamples } from "./examples.js";

const posts = new Map();
const trash = new Map();
const tags = new Map();
let selected = null;
let arrived = new Set();
let renderIsPlanned = false;

const events = new EventSource("events");
const on = (name, handle) => events.addEventListener(name, event => handle(JSON.parse(event.data)));

on("state", state => {
  posts.clear();
  trash.clear();
  tags.clear();
  document.title = `${state.device} · Posts`;
  byID("device").textContent = state.device;
  showKind(state);
  take(state, false);
  showSync(state.sync);
  showNetwork(state.network);
  showConflicts(state.conflicts);
  showShares(state.shares);
  showBoard(state.board);
  showLatency(state.latency);
  notice("");
  if (state.hasCloudParts) loadArchives();
});
on("change", change => take(change, true));
on("sync", sync => showSync(sync));
on("network", network => showNetwork(network));
on("conflicts", conflicts => showConflicts(conflicts));
on("shares", shares => showShares(shares));
on("board", board => showBoard(board));
on("lens", lens => { byID("lens").textContent = lens.text; });
on("latency", latency => showLatency(latency));
events.addEventListener("error", () => notice("This device's process has ended, or was restarted. Waiting for it to come back.", { stays: true }));

const take = (change, marksArrivals) => {
  for (const tag of change.tags) tags.set(tag.id, tag);
  for (const id of change.removedTags ?? []) tags.delete(id);
  for (const post of change.posts) {
    if (marksArrivals && (!posts.has(post.id) || change.elsewhere?.includes(post.id))) arrived.add(post.id);
    if (post.id === selected && change.elsewhere?.includes(post.id)) showChange(posts.get(post.id), post);
    posts.set(post.id, post);
  }
  for (const id of change.removedPosts ?? []) posts.delete(id);
  for (const post of change.trash ?? []) trash.set(post.id, post);
  for (const id of change.removedTrash ?? []) trash.delete(id);
  if (selected !== null && !posts.has(selected)) {
    const what = trash.has(selected) ? "moved to the trash" : "deleted";
    if (!isTrashing) notice(`The post you were reading was ${what} on another device.`, { isCalm: true });
    select(null);
  }
  render();
};

/** Introduces a device with another version of the model or another way to sync. */
const showKind = state => {
  byID("introduction").hidden = !state.introduction;
  byID("introduction").textContent = state.introduction ?? "";
  byID("lens").textContent = state.lens ?? "";
  for (const id of ["open-board", "share"]) byID(id).hidden = !state.hasCloudParts;
};

// MARK: Status

const phrases = {
  starting: () => "Connecting",
  idle: () => "Up to date",
  importing: sync => sync.total ? `Importing ${sync.done} of ${sync.total}` : sync.done ? `Importing ${sync.done}` : "Importing",
  exporting: sync => `Exporting ${sync.done} of ${sync.total}`,
  // The device has its network, but the server does not respond yet.
  offline: sync => (byID("online").checked ? "Reaching the server" : "Offline") + (sync.pending ? ` · ${sync.pending} waiting` : ""),
  paused: () => "Paused",
  error: sync => sync.reason ? `Error: ${sync.reason}` : "Error",
};

let toldAccountChange = null;
let lastSync = null;

const showSync = sync => {
  lastSync = sync;
  if (sync.accountChange && sync.accountChange !== toldAccountChange) {
    notice(sync.accountChange, { stays: true, isCalm: true });
    loadArchives();
  }
  toldAccountChange = sync.accountChange ?? null;
  byID("sync").dataset.phase = sync.phase;
  byID("sync-text").textContent = (phrases[sync.phase] ?? (() => sync.phase))(sync);
  byID("sync").title = sync.lastSuccess ? `Last complete sync: ${new Date(sync.lastSuccess).toLocaleString()}` : "Not synced yet";
};

const showNetwork = network => {
  byID("network").hidden = !network.switchable;
  byID("online").checked = network.online;
  byID("network-text").textContent = network.online ? "Online" : "Offline";
  if (lastSync) showSync(lastSync);
};

const showLatency = latency => {
  if (!latency) return;
  const ms = latency.milliseconds;
  const text = ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : ms < 120000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60000)} min`;
  byID("latency").textContent = `Last save to visible: ${text}`;
};

byID("online").addEventListener("change", event => send("POST", "network", { online: event.target.checked }));

// MARK: The list

const render = () => {
  if (renderIsPlanned) return;
  renderIsPlanned = true;
  requestAnimationFrame(() => {
    renderIsPlanned = false;
    renderList();
    renderTrash();
    renderEditor();
  });
};

const items = new Map();

const byName = map => [...map.values()].sort((a, b) => a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1));
const newestFirst = map => [...map.values()].sort((a, b) => b.timestamp - a.timestamp || (a.id < b.id ? 1 : -1));

let tagFilter = null;
const matches = post => {
  const words = byID("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [post.title, post.subtitle ?? "", post.content, ...post.tags.map(id => tags.get(id)?.name ?? "")].join(" ").toLowerCase();
  return (tagFilter === null || post.tags.includes(tagFilter)) && words.every(word => text.includes(word));
};

const renderFilter = () => {
  if (!tags.has(tagFilter)) tagFilter = null;
  byID("find").hidden = posts.size === 0;
  const used = byName(tags).filter(tag => [...posts.values()].some(post => post.tags.includes(tag.id)));
  replaceIfChanged(byID("filter"), [tagFilter, used], () => used.map(tag => {
    const isOn = tag.id === tagFilter;
    const choose = () => { tagFilter = isOn ? null : tag.id; render(); };
    return colored(
      element(
        "button", { class: isOn ? "chip on" : "chip", type: "button", "aria-pressed": String(isOn), "data-key": tag.id, onclick: choose },
        element("span", {}, tag.name || "Unnamed")),
      tag);
  }));
};
byID("search").addEventListener("input", () => render());

const renderList = () => {
  renderFilter();
  const list = byID("posts");
  const sorted = newestFirst(posts).filter(matches);
  const shown = new Set(sorted.map(post => post.id));
  for (const [id, item] of items) if (!shown.has(id)) { item.remove(); items.delete(id); }
  let place = list.firstElementChild;
  for (const post of sorted) {
    const text = JSON.stringify([post, post.tags.map(id => tags.get(id)), post.id === selected, shared.has(post.id)]);
    let item = items.get(post.id);
    if (!item) {
      item = element("li");
      items.set(post.id, item);
    }
    if (item.text !== text) {
      item.text = text;
      item.replaceChildren(card(post));
    }
    item.classList.toggle("arrived", arrived.has(post.id));
    if (item === place) place = place.nextElementSibling;
    else list.insertBefore(item, place);
  }
  arrived = new Set();
  byID("count").textContent = posts.size === 0 ? "" : sorted.length === posts.size ? String(posts.size) : `${sorted.length} of ${posts.size}`;
  byID("no-match").hidden = posts.size === 0 || sorted.length > 0;
  byID("no-posts").hidden = posts.size > 0;
};

const card = post => element(
  "button", { class: "card", type: "button", "aria-current": String(post.id === selected), onclick: () => select(post.id) },
  element("span", { class: "card-title" }, post.title || "Untitled", shared.has(post.id) ? element("span", { class: "badge" }, "shared") : ""),
  post.subtitle ? element("span", { class: "card-subtitle" }, post.subtitle) : null,
  element("span", { class: "card-text" }, post.content),
  post.tags.length ? element("span", { class: "chips" }, ...post.tags.map(id => tags.get(id)).filter(Boolean).map(tag => chip(tag, true))) : null,
  post.attachments.length ? thumbnail(post.attachments[0]) : null);

const colored = (node, tag) => {
  if (/^#[0-9a-f]{6}$/i.test(tag.color)) node.style.setProperty("--tag", tag.color);
  return node;
};
const chip = (tag, isOn) => colored(element("span", { class: isOn ? "chip on" : "chip" }, element("span", {}, tag.name || "Unnamed")), tag);
const thumbnail = attachment => attachment.thumbnail
  ? element("img", { class: "thumb", src: `attachments/${encodeURIComponent(attachment.id)}/thumbnail`, alt: attachment.name || "Picture", loading: "lazy" })
  : element("span", { class: "thumb", role: "img", "aria-label": attachment.name || "Picture" });

byID("new-post").addEventListener("click", async () => {
  // Until the new post is there nothing can be typed: it would go to the post that was open.
  select(null);
  const saved = await send("POST", "posts", { title: "", content: "" });
  if (!saved) return;
  // The answer may come before the event that says the same.
  take({ posts: [saved.post], tags: [] }, false);
  select(saved.post.id);
  renderEditor();
  byID("title").focus();
});
byID("examples").addEventListener("click", async event => {
  event.target.disabled = true;
  await addExamples(send);
  event.target.disabled = false;
});
byID("samples").addEventListener("click", () => send("POST", "samples", { count: 100, title: "Sample" }));

// MARK: Sharing

let shared = new Set();
const showShares = ids => {
  shared = new Set(ids);
  render();
};

byID("share-post").addEventListener("click", async event => {
  sendDrafts();
  event.target.disabled = true;
  const answer = await send("POST", `posts/${encodeURIComponent(selected)}/share`, {});
  event.target.disabled = false;
  if (!answer) return;
  byID("sharing-link").value = answer.link;
  byID("sharing-result").textContent = "";
  byID("sharing").showModal();
  byID("sharing-link").select();
});
byID("copy-link").addEventListener("click", async () => {
  byID("sharing-link").select();
  try {
    await navigator.clipboard.writeText(byID("sharing-link").value);
    byID("sharing-result").textContent = "Copied";
  } catch {
    byID("sharing-result").textContent = "Press Ctrl-C to copy";
  }
});
// MARK: The trash

const showTrash = isShown => {
  byID("list").hidden = isShown;
  byID("trash").hidden = !isShown;
  byID(isShown ? "close-trash" : "open-trash").focus();
};
byID("open-trash").addEventListener("click", () => showTrash(true));
byID("close-trash").addEventListener("click", () => showTrash(false));
byID("empty-trash").addEventListener("click", () => {
  const posts = trash.size === 1 ? "1 post" : `${trash.size} posts`;
  if (confirm(`Delete ${posts} for good?`)) send("DELETE", "trash");
});

const renderTrash = () => {
  byID("trash-count").textContent = trash.size === 0 ? "" : String(trash.size);
  byID("empty-trash").disabled = trash.size === 0;
  byID("no-trash").hidden = trash.size > 0;
  const sorted = newestFirst(trash);
  replaceIfChanged(byID("trashed-posts"), sorted.map(post => [post.id, post.title]), () => sorted.map(trashed));
};

const trashed = post => {
  const title = post.title || "Untitled";
  return element(
    "li", { class: "trashed" }, element("span", {}, title),
    element(
      "button", { type: "button", "aria-label": `Restore ${title}`, onclick: () => send("DELETE", `trash/${encodeURIComponent(post.id)}`) },
      "Restore"));
};

// MARK: Archives

const showArchives = isShown => {
  byID("list").hidden = isShown;
  byID("archives").hidden = !isShown;
  byID(isShown ? "close-archives" : "open-archives").focus();
};
byID("open-archives").addEventListener("click", () => showArchives(true));
byID("close-archives").addEventListener("click", () => showArchives(false));

const loadArchives = async () => {
  const archives = await send("GET", "archives");
  if (!archives) return;
  byID("open-archives").hidden = archives.length === 0;
  byID("archive-count").textContent = archives.length === 0 ? "" : String(archives.length);
  if (archives.length === 0 && !byID("archives").hidden) showArchives(false);
  replaceIfChanged(byID("archive-list"), archives, () => archives.map(archived));
};

const archived = archive => {
  const title = `${new Date(archive.date).toLocaleString()} · ${archive.objects} objects`;
  return element(
    "li", { class: "trashed" }, element("span", {}, title),
    element("button", { type: "button", "aria-label": `Restore ${title}`, onclick: () => restoreArchive(archive) }, "Restore"),
    element("button", { type: "button", class: "danger", "aria-label": `Delete ${title}`, onclick: () => removeArchive(archive, title) }, "Delete"));
};

const restoreArchive = async archive => {
  const path = `archives/${encodeURIComponent(archive.name)}/restoration`;
  // What was shown is archived first, so that no answer here loses anything.
  const restored = await send("POST", path, { isOwn: false }, "application/json", async () => {
    const isOwn = confirm("These posts are of another account or server. Are they yours, and shall all of them be sent to the present account?");
    return isOwn ? send("POST", path, { isOwn: true }) : undefined;
  });
  if (restored === undefined) return;
  await send("DELETE", "account-change");
  showArchives(false);
  loadArchives();
};

const removeArchive = async (archive, title) => {
  if (!confirm(`Delete the archive ${title} for good?`)) return;
  await send("DELETE", `archives/${encodeURIComponent(archive.name)}`);
  loadArchives();
};

// MARK: The editor

let isTrashing = false;
const fields = ["title", "subtitle", "content"];
/** What was typed and not sent yet, by field. */
const drafts = {};
let draftTimer;

const select = id => {
  sendDrafts();
  selected = id;
  isTrashing = false;
  byID("changed").textContent = "";
  byID("panes").classList.toggle("editing", id !== null);
  byID("editor").hidden = true;
  render();
};

const sendDrafts = () => {
  clearTimeout(draftTimer);
  if (selected === null || Object.keys(drafts).length === 0) return;
  const changes = { ...drafts };
  for (const field of fields) delete drafts[field];
  if (posts.has(selected)) send("PATCH", `posts/${encodeURIComponent(selected)}`, changes);
};

for (const field of fields) {
  byID(field).addEventListener("input", event => {
    drafts[field] = event.target.value;
    clearTimeout(draftTimer);
    draftTimer = setTimeout(sendDrafts, 350);
  });
  byID(field).addEventListener("blur", sendDrafts);
}
byID("editor").addEventListener("submit", event => event.preventDefault());
byID("back").addEventListener("click", () => select(null));
byID("delete-post").addEventListener("click", () => {
  const id = selected;
  sendDrafts();
  isTrashing = true;
  send("PUT", `trash/${encodeURIComponent(id)}`);
});

const renderEditor = () => {
  const post = posts.get(selected);
  byID("editor").hidden = !post;
  byID("no-post").hidden = Boolean(post);
  if (!post) return;
  // Version 2 of the app has a headline and a subtitle.
  const hasSubtitle = post.subtitle !== undefined;
  byID("subtitle").hidden = !hasSubtitle;
  byID("title").placeholder = hasSubtitle ? "Headline" : "Title";
  byID("title").setAttribute("aria-label", byID("title").placeholder);
  for (const field of fields) {
    const value = post[field] ?? "";
    // A field that is being typed in keeps what was typed; it goes to the device in a moment.
    if (field in drafts || byID(field).value === value) continue;
    const { selectionStart, selectionEnd } = byID(field);
    byID(field).value = value;
    if (document.activeElement === byID(field)) byID(field).setSelectionRange(selectionStart, selectionEnd);
  }
  byID("when").textContent = new Date(post.timestamp).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  byID("shared").textContent = shared.has(post.id) ? "Several users have this post." : "";
  renderTags(post);
  renderAttachments(post);
};

/** Names what another device changed in the post that is open. */
const showChange = (before, after) => {
  if (!before) return;
  const isOther = field => JSON.stringify(before[field]) !== JSON.stringify(after[field]);
  const changed = [["title", "title"], ["subtitle", "subtitle"], ["content", "text"], ["tags", "tags"], ["attachments", "pictures"]].filter(([field]) => isOther(field));
  if (changed.length === 0) return;
  const time = new Date().toLocaleTimeString([], { timeStyle: "medium" });
  byID("changed").textContent = `Changed on another device while you looked: ${changed.map(([, name]) => name).join(", ")} (${time})`;
};

const renderTags = post => {
  // The first letter names the store: a post that another user shares has tags of its own, besides those used from here on.
  const names = new Set(post.tags.map(id => tags.get(id)?.name));
  const sorted = byName(tags).filter(tag => tag.id[0] === post.id[0] || !names.has(tag.name));
  replaceIfChanged(byID("tags"), [post.id, post.tags, sorted], () => sorted.map(tag => {
    const isOn = post.tags.includes(tag.id);
    const path = `posts/${encodeURIComponent(post.id)}/tags/${encodeURIComponent(tag.id)}`;
    return colored(
      element(
        "button",
        { class: isOn ? "chip on" : "chip", type: "button", "aria-pressed": String(isOn), "data-key": tag.id,
          onclick: () => send(isOn ? "DELETE" : "PUT", path) },
        element("span", {}, tag.name || "Unnamed")),
      tag);
  }));
};

byID("add-tag").addEventListener("click", async () => {
  const name = byID("tag-name").value.trim();
  if (name === "" || selected === null) return byID("tag-name").focus();
  const id = selected;
  const tag = await send("POST", "tags", { name, color: byID("tag-color").value });
  if (!tag) return;
  byID("tag-name").value = "";
  await send("PUT", `posts/${encodeURIComponent(id)}/tags/${encodeURIComponent(tag.id)}`);
});
byID("tag-name").addEventListener("keydown", event => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  byID("add-tag").click();
});

// MARK: Pictures

const thumbnailSide = 240;
const pictureBytesMax = 20 * 1024 * 1024;

/** A small JPEG of a picture, made here so that the device never has to decode one. */
const thumbnailOf = async file => {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, thumbnailSide / Math.max(bitmap.width, bitmap.height));
  const canvas = element("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return new Promise(resolve => canvas.toBlob(resolve, "image/jpeg", 0.85));
};

byID("picture").addEventListener("change", async event => {
  const file = event.target.files[0];
  const id = selected;
  event.target.value = "";
  if (!file || id === null) return;
  if (file.size > pictureBytesMax) return notice("The picture is larger than 20 MB; choose a smaller one.");
  let small;
  try {
    small = await thumbnailOf(file);
  } catch {
    return notice("The file is not a picture that this browser can read; choose a PNG, JPEG, GIF or WebP.");
  }
  const query = new URLSearchParams({ name: file.name, thumbnail: small.size });
  await send("POST", `posts/${encodeURIComponent(id)}/attachments?${query}`, new Blob([small, file]), "application/octet-stream");
});

const renderAttachments = post => replaceIfChanged(byID("attachments"), [post.id, post.attachments], () => post.attachments.map(attachment =>
  element(
    "button", { type: "button", "aria-label": `Show ${attachment.name || "picture"}`, "data-key": attachment.id, onclick: () => view(attachment) },
    thumbnail(attachment))));

let viewed = null;
const view = attachment => {
  viewed = attachment.id;
  byID("viewer-image").src = `attachments/${encodeURIComponent(attachment.id)}/image`;
  byID("viewer-image").alt = attachment.name || "Picture";
  byID("viewer-name").textContent = attachment.name;
  byID("viewer").showModal();
};
byID("delete-picture").addEventListener("click", async () => {
  byID("viewer").close();
  await send("DELETE", `attachments/${encodeURIComponent(viewed)}`);
});
byID("viewer").addEventListener("close", () => byID("viewer-image").removeAttribute("src"));
