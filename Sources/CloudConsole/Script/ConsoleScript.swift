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

    /// Sends files of a record's form before the form itself.
    static let record = """
        "use strict";
        const form = document.getElementById("record");
        for (const picker of form.querySelectorAll("input[type=file]")) {
          const receipt = picker.nextElementSibling;
          const state = receipt.nextElementSibling;
          picker.addEventListener("change", async () => {
            const file = picker.files[0];
            receipt.value = "";
            state.textContent = "";
            if (!file) return;
            const buttons = form.querySelectorAll("button");
            for (const button of buttons) button.disabled = true;
            try {
              state.textContent = "Sending …";
              const ask = new URLSearchParams({
                form: form.elements.form.value, type: form.dataset.type, field: picker.dataset.field,
                record: form.elements.name ? form.elements.name.value : ""
              });
              const answer = await fetch(form.dataset.upload, { method: "POST", body: ask });
              if (!answer.ok) throw new Error("status " + answer.status);
              const token = (await answer.json()).tokens[0];
              if (token.serverErrorCode) throw new Error(token.reason);
              const sent = await fetch(token.url, { method: "POST", body: file });
              const values = await sent.json();
              if (values.serverErrorCode) throw new Error(values.reason);
              receipt.value = JSON.stringify(values.singleFile);
              state.textContent = "Sent; save the record to keep it.";
            } catch (error) {
              state.textContent = "The file could not be sent: " + error.message;
            }
            for (const button of buttons) button.disabled = false;
          });
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
