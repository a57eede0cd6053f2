// SPDX-License-Identifier: Apache-2.0
// A page for the console's scripts, without a browser: scripted answers, recorded requests, a clock that tests advance.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const webOf = owner => new URL(`../../Sources/${owner}/Web/`, import.meta.url);
/** A file of the console's; `TarnCommands/stage.js` is one of the demo's page. */
export const source = name => readFileSync(
  name.includes("/") ? new URL(name.split("/")[1], webOf(name.split("/")[0])) : new URL(name, webOf("CloudConsole")), "utf8");

export class Element {
  constructor(kind, id) {
    this.kind = kind;
    this.id = id;
    this.dataset = {};
    this.children = [];
    this.attributes = {};
    this.listeners = {};
    this.textContent = "";
    this.className = "";
    this.value = "";
    this.hidden = false;
    this.style = {};
  }
  focus() { Element.focused = this; }
  scrollIntoView() { Element.scrolledTo = this; }
  showModal() { this.open = true; }
  close() { this.open = false; }
  /** Templates are not read: tests give an element its parts by their selectors. */
  querySelector(selector) { return this.querySelectorAll(selector)[0] || null; }
  querySelectorAll(selector) { return (this.parts && this.parts[selector]) || []; }
  addEventListener(name, listener) { (this.listeners[name] ||= []).push(listener); }
  async fire(name, event = {}) { for (const listener of this.listeners[name] || []) await listener(event); }
  setAttribute(name, value) { this.attributes[name] = value; }
  getAttribute(name) { return this.attributes[name]; }
  append(...parts) {
    for (const part of parts) {
      if (part instanceof Element) { part.parent = this; this.children.push(part); } else this.textContent += part;
    }
  }
  prepend(part) { part.parent = this; this.children.unshift(part); }
  replaceChildren(...parts) { this.children = []; this.append(...parts); }
  remove() { this.parent.children.splice(this.parent.children.indexOf(this), 1); }
  get lastElementChild() { return this.children[this.children.length - 1]; }
  get texts() { return [this.textContent, ...this.children.flatMap(child => child.texts)].filter(text => text !== ""); }
}

/** `answers` are called in order with the request, and give a body, or a function of a Response; one that throws is no answer. */
export class Page {
  constructor({ ids = [], answers = [], address = "https://cloud.example/page" } = {}) {
    this.requests = [];
    this.answers = answers;
    this.timers = [];
    this.events = [];
    this.listeners = {};
    this.stored = new Map();
    this.opened = [];
    this.parts = {};
    this.elements = new Map(ids.map(id => [id, new Element("div", id)]));
    const page = this;
    const document = {
      currentScript: { src: "https://cloud.example/cloudkit.js" }, visibilityState: "visible",
      getElementById: id => page.elements.get(id) || null, createElement: kind => new Element(kind),
      querySelectorAll: selector => page.parts[selector] || []
    };
    this.document = document;
    this.window = {
      addEventListener: (name, listener) => (page.listeners[name] ||= []).push(listener),
      removeEventListener: (name, listener) => { page.listeners[name] = (page.listeners[name] || []).filter(it => it !== listener); },
      dispatchEvent: event => page.events.push(event.type),
      open: (...values) => { const opened = { closed: false, close() { this.closed = true; } }; page.opened.push({ values, opened }); return opened; }
    };
    this.context = vm.createContext({
      window: this.window, document, location: new URL(address), URL, AbortController, Event, TextEncoder, btoa, Blob,
      crypto: { getRandomValues: bytes => bytes.fill(7) }, console: { error: error => page.events.push("error: " + error.message) },
      localStorage: {
        getItem: key => page.stored.has(key) ? page.stored.get(key) : null, setItem: (key, value) => page.stored.set(key, value),
        removeItem: key => page.stored.delete(key)
      },
      setTimeout: (run, milliseconds) => page.start(run, milliseconds), clearTimeout: timer => page.stop(timer),
      setInterval: (run, milliseconds) => page.start(run, milliseconds), clearInterval: timer => page.stop(timer),
      fetch: (...values) => page.fetch(...values),
      EventSource: class { addEventListener(name, listener) { (page.listeners[name] ||= []).push(listener); } }
    });
    this.context.globalThis = this.context;
  }

  run(name) { vm.runInContext(source(name), this.context, { filename: name }); return this; }
  evaluate(text) { return vm.runInContext(text, this.context); }

  start(run, milliseconds) { const timer = { run, milliseconds }; this.timers.push(timer); return timer; }
  stop(timer) { this.timers = this.timers.filter(it => it !== timer); }
  /** Runs the timers of so many milliseconds. */
  async elapse(milliseconds) {
    for (const timer of this.timers.filter(it => it.milliseconds === milliseconds)) { this.stop(timer); await timer.run(); }
  }

  async fetch(address, options = {}) {
    const url = new URL(address, "https://cloud.example");
    const body = typeof options.body === "string" ? JSON.parse(options.body) : options.body;
    const request = { url, path: url.pathname, query: Object.fromEntries(url.searchParams), body, method: options.method, headers: options.headers };
    this.requests.push(request);
    const answer = this.answers.shift();
    if (answer === undefined) return new Promise(() => {});
    const made = typeof answer === "function" ? answer(request) : answer;
    const { status = 200, headers = {}, text, ...values } = made;
    const bytes = text === undefined ? JSON.stringify(values) : text;
    return { ok: status < 400, status, headers: new Headers(headers), text: async () => bytes, json: async () => JSON.parse(bytes) };
  }
}

/** A page with a configured container. */
export const cloud = (answers = [], configuration = {}) => {
  const page = new Page({ answers, ids: ["apple-sign-in-button", "apple-sign-out-button"] }).run("cloudkit.js");
  page.CloudKit = page.window.CloudKit;
  page.CloudKit.configure({
    containers: [{ containerIdentifier: "iCloud.n", environment: "development", apiTokenAuth: { apiToken: "api" }, ...configuration }]
  });
  page.container = page.CloudKit.getDefaultContainer();
  return page;
};
