// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// What all parts of the page use: elements, requests to the device, and the notice.

export const byID = id => document.getElementById(id);

export const element = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children.filter(child => child !== null));
  return node;
};

/** `inConflict` takes the place of a notice where the device answers 409. */
export const send = async (method, path, body, type = "application/json", inConflict = null) => {
  const options = { method };
  if (body !== undefined) {
    options.headers = { "Content-Type": type };
    options.body = type === "application/json" ? JSON.stringify(body) : body;
  }
  try {
    const answer = await fetch(path, options);
    const text = await answer.text();
    const value = text === "" ? null : JSON.parse(text);
    if (answer.status === 409 && inConflict) return await inConflict(value);
    if (!answer.ok) throw new Error(value?.error?.message ?? `The device answered ${answer.status}.`);
    return value;
  } catch (error) {
    notice(error instanceof TypeError ? "The device does not answer. Is its process running?" : error.message);
    return undefined;
  }
};

let noticeTimer;
export const notice = (text, { stays = false, isCalm = false } = {}) => {
  clearTimeout(noticeTimer);
  byID("notice").hidden = text === "";
  byID("notice").classList.toggle("calm", isCalm);
  byID("notice").textContent = text;
  if (!stays && text !== "") noticeTimer = setTimeout(() => notice(""), 6000);
};

export const replaceIfChanged = (container, description, make) => {
  const text = JSON.stringify(description);
  if (container.text === text) return;
  container.text = text;
  const focused = container.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  container.replaceChildren(...make());
  if (focused !== undefined) [...container.children].find(child => child.dataset.key === focused)?.focus();
};
