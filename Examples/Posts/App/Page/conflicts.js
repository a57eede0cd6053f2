// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import { byID, element, replaceIfChanged, send } from "./dom.js";

const propertyNames = { title: "title", headline: "headline", subtitle: "subtitle", name: "tag's name", color: "tag's colour" };

/** One card for each value that lost against a concurrent change: both values, and the choice. */
export const showConflicts = conflicts => {
  byID("conflicts").hidden = conflicts.length === 0;
  replaceIfChanged(byID("conflicts"), conflicts, () => conflicts.map(conflict => {
    const path = `conflicts/${conflict.id}`;
    const property = propertyNames[conflict.property] ?? conflict.property;
    const [kept, lost] = conflict.isOwn ? ["From this device, shown now", "From the other device"] : ["From the other device, shown now", "From this device"];
    return element(
      "section", { class: "conflict", "data-key": conflict.id },
      element("h2", {}, `Two devices changed the ${property} at the same time`),
      element("dl", {}, element("dt", {}, kept), element("dd", {}, conflict.kept || "Empty"), element("dt", {}, lost), element("dd", {}, conflict.lost || "Empty")),
      element("p", { class: "choice" },
        element("button", { type: "button", class: "primary", "aria-label": `Restore ${conflict.lost}`, onclick: () => send("POST", `${path}/restoration`, {}) }, "Restore the other"),
        element("button", { type: "button", "aria-label": `Keep ${conflict.kept}`, onclick: () => send("DELETE", path) }, "Keep as it is")));
  }));
};
