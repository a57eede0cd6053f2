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

    /// Lets pages ask the service with `/cloudkit.js`, as whoever is signed in here.
    static let cloud = """
        "use strict";
        const asks = document.getElementById("asks").dataset;
        CloudKit.configure({ containers: [{
          containerIdentifier: asks.container, environment: asks.environment, server: location.origin + "/console/api",
          sessionAuth: { headers: { "X-Tarn-Form": asks.code } }
        }] });
        const databaseOf = place => CloudKit.getDefaultContainer().getDatabaseWithDatabaseScope(place.dataset.scope);
        const zoneOf = place => ({
          zoneName: place.dataset.zone, ...(place.dataset.owner ? { ownerRecordName: place.dataset.owner } : {})
        });

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
              const name = form.elements.name ? form.elements.name.value : "";
              const sent = await databaseOf(form).uploadAsset(file, {
                recordType: form.dataset.type, fieldName: picker.dataset.field, ...(name ? { recordName: name } : {})
              }, { zoneID: zoneOf(form) });
              receipt.value = JSON.stringify(sent.value);
              state.textContent = "Sent; save the record to keep it.";
            } catch (error) {
              state.textContent = "The file could not be sent: " + error.message;
            }
            for (const button of buttons) button.disabled = false;
          });
        }

        """

    /// Goes on with a zone's change feed as changes come.
    static let changes = """
        "use strict";
        const rows = document.getElementById("changes");
        const state = document.getElementById("state");
        const pause = document.getElementById("pause");
        let token = rows.dataset.token;
        let isPaused = false;
        const cell = (row, content, style) => {
          const place = document.createElement("td");
          place.append(content);
          if (style) place.className = style;
          row.append(place);
        };
        const element = (kind, text, style) => {
          const made = document.createElement(kind);
          made.textContent = text;
          if (style) made.className = style;
          return made;
        };
        const when = stamp => stamp ? new Date(stamp.timestamp).toISOString().replace("T", " ").replace("Z", "") : "";
        const show = record => {
          // Each record stands once, where it changed last.
          for (const old of [...rows.children]) if (old.dataset.name === record.recordName) old.remove();
          const row = document.createElement("tr");
          row.dataset.name = record.recordName;
          row.className = "new";
          if (record.deleted) {
            cell(row, element("span", record.recordName, "gone"));
          } else {
            const link = element("a", record.recordName);
            link.href = rows.dataset.records + encodeURIComponent(record.recordName);
            cell(row, link);
          }
          cell(row, record.recordType || "");
          cell(row, element("code", record.recordChangeTag || ""));
          cell(row, record.deleted ? "deleted" : "modified " + when(record.modified), "time");
          rows.append(row);
        };
        const follow = async () => {
          let wait = 1500;
          if (!isPaused && document.visibilityState === "visible") {
            try {
              const answer = await databaseOf(rows).fetchRecordZoneChanges({ zoneID: zoneOf(rows), syncToken: token });
              if (answer.hasErrors) throw answer.errors[0];
              const zone = answer.zones[0];
              token = zone.syncToken;
              for (const record of zone.records) show(record);
              if (zone.records.length) document.getElementById("nothing")?.remove();
              if (zone.moreComing) wait = 0;
              state.textContent = "Live.";
            } catch (error) {
              state.textContent = error.ckErrorCode === "NETWORK_ERROR" ? "The server cannot be reached." : "The feed broke off: " + error.message;
              if (error.isServerError) return;
            }
          }
          setTimeout(follow, wait);
        };
        pause.addEventListener("click", () => {
          isPaused = !isPaused;
          pause.setAttribute("aria-pressed", String(isPaused));
          state.textContent = isPaused ? "Paused." : "Live.";
        });
        follow();

        """

    /// Adds requests to the log as they are answered.
    static let log = """
        "use strict";
        const rows = document.getElementById("rows");
        const state = document.getElementById("state");
        const pause = document.getElementById("pause");
        let last = 0;
        let isPaused = false;
        pause.addEventListener("click", () => {
          isPaused = !isPaused;
          pause.setAttribute("aria-pressed", String(isPaused));
          state.textContent = isPaused ? "Paused." : "Live.";
        });
        const cell = (row, text, style) => {
          const place = document.createElement("td");
          place.textContent = text === undefined ? "" : text;
          if (style) place.className = style;
          row.append(place);
        };
        const ask = async () => {
          if (isPaused || document.visibilityState !== "visible") return setTimeout(ask, 1000);
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
              cell(row, note.request, "id");
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
