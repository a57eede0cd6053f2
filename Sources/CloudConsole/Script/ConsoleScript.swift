// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The few scripts that pages cannot do without.
enum ConsoleScript {
    /// Hands a web auth token to the page that opened the sign-in page.
    static let signIn = """
        "use strict";
        const place = document.getElementById("token");
        if (window.opener) {
          const message = { ckWebAuthToken: place.dataset.token, ckSession: place.dataset.token };
          window.opener.postMessage(message, place.dataset.origin);
        }

        """

    /// Adds requests to the log as they are answered.
    static let log = """
        "use strict";
        const rows = document.getElementById("rows");
        const state = document.getElementById("state");
        let last = 0;
        const cell = (row, text, style) => {
          const place = document.createElement("td");
          place.textContent = text === undefined ? "" : text;
          if (style) place.className = style;
          row.append(place);
        };
        const ask = async () => {
          try {
            const answer = await fetch("/console/log.json?after=" + last);
            if (!answer.ok) throw new Error("status " + answer.status);
            for (const note of (await answer.json()).notes) {
              last = note.number;
              const row = document.createElement("tr");
              cell(row, new Date(note.time).toLocaleTimeString());
              cell(row, note.method);
              cell(row, note.endpoint);
              cell(row, note.status, "number " + (note.status < 400 ? "good" : "problem"));
              cell(row, note.error);
              cell(row, note.milliseconds.toFixed(1), "number");
              cell(row, note.request);
              rows.prepend(row);
              while (rows.children.length > 500) rows.lastElementChild.remove();
            }
            state.textContent = "Live.";
          } catch {
            state.textContent = "The server cannot be reached.";
          }
          setTimeout(ask, 1000);
        };
        ask();

        """
}
