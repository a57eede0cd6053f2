// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension CloudKitScript {
    /// Errors, answers and helpers of `/cloudkit.js`.
    static let core = #"""
        // CloudKit for web pages, over the CloudKit Web Services protocol. Served by the server it talks to.
        const scriptAddress = document.currentScript ? new URL(document.currentScript.src) : new URL(location.href);
        const serverAddress = scriptAddress.origin;

        class CKError extends Error {
          constructor(values) {
            super(values.reason || values.serverErrorCode || values.ckErrorCode);
            this.name = "CKError";
            this.ckErrorCode = values.ckErrorCode || values.serverErrorCode || "UNKNOWN_ERROR";
            for (const key of ["serverErrorCode", "reason", "uuid", "retryAfter", "redirectURL", "recordName", "zoneID",
              "subscriptionID", "serverRecord", "shortGUID"]) {
              if (values[key] !== undefined) this[key] = values[key];
            }
            this.isCKError = true;
            this.isServerError = values.serverErrorCode !== undefined;
          }
        }

        const failure = (ckErrorCode, reason) => new CKError({ ckErrorCode, reason });

        /** What a request answers: results, and the errors of single items. */
        class Response {
          constructor(body, listName) {
            this._body = body;
            const items = listName ? body[listName] || [] : [];
            this._results = items.filter(item => !item.serverErrorCode);
            this._errors = items.filter(item => item.serverErrorCode).map(item => new CKError(item));
          }
          get hasErrors() { return this._errors.length > 0; }
          get errors() { return this._errors; }
        }

        class RecordsResponse extends Response {
          constructor(body) { super(body, "records"); }
          get records() { return this._results; }
          get syncToken() { return this._body.syncToken; }
        }

        class QueryResponse extends RecordsResponse {
          constructor(body, query, options) {
            super(body);
            this._query = query;
            this._options = options;
          }
          get continuationMarker() { return this._body.continuationMarker; }
          get moreComing() { return this._body.continuationMarker !== undefined; }
        }

        class RecordZonesResponse extends Response {
          constructor(body) { super(body, "zones"); }
          get zones() { return this._results; }
        }

        class DatabaseChangesResponse extends RecordZonesResponse {
          get syncToken() { return this._body.syncToken; }
          get moreComing() { return Boolean(this._body.moreComing); }
        }

        class RecordZoneChangesResponse extends Response {
          constructor(body) { super(body, "zones"); }
          get zones() { return this._results; }
        }

        class SubscriptionsResponse extends Response {
          constructor(body) { super(body, "subscriptions"); }
          get subscriptions() { return this._results; }
        }

        class UserIdentitiesResponse extends Response {
          constructor(body) { super(body, "users"); }
          get users() { return this._results; }
        }

        class RecordInfosResponse extends Response {
          constructor(body) { super(body, "results"); }
          get results() { return this._results; }
        }

        const array = value => Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
        const pick = (options, keys) => {
          const picked = {};
          for (const key of keys) if (options && options[key] !== undefined) picked[key] = options[key];
          return picked;
        };
        const zoneID = value => typeof value === "string" ? { zoneName: value } : value && value.zoneID ? zoneID(value.zoneID) : value;
        const withZone = options => options && options.zoneID ? { zoneID: zoneID(options.zoneID) }
          : options && options.zoneName ? { zoneID: { zoneName: options.zoneName } } : {};
        const recordName = value => typeof value === "string" ? value : value.recordName;
        const field = value => {
          if (value === null || typeof value !== "object" || Array.isArray(value) || !("value" in value)) return { value };
          return value;
        };
        const record = value => {
          if (!value.fields) return value;
          const fields = {};
          for (const key of Object.keys(value.fields)) fields[key] = field(value.fields[key]);
          return { ...value, fields };
        };

        /** Keeps web auth tokens for as long as the person wants to stay signed in. */
        const cookieStore = {
          putToken(container, token) {
            try {
              const key = "cloudkit-token " + container;
              if (token) localStorage.setItem(key, token); else localStorage.removeItem(key);
            } catch { /* The page may keep nothing; then the token lives as long as the page. */ }
          },
          getToken(container) {
            try { return localStorage.getItem("cloudkit-token " + container); } catch { return null; }
          }
        };
        """#
}
