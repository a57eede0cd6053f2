// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension CloudKitScript {
    /// Errors, answers and helpers of `/cloudkit.js`.
    static let core = #"""
        // CloudKit for web pages, over the CloudKit Web Services protocol. Served by the server it talks to.
        const scriptAddress = document.currentScript ? new URL(document.currentScript.src) : new URL(location.href);
        const serverAddress = scriptAddress.origin;

        /** A table of constants. A name that it lacks is an error: `code === undefined` would quietly never be true. */
        const constants = (owner, values) => new Proxy(values, {
          get(table, name, receiver) {
            if (typeof name === "string" && /^[A-Z][A-Z_]*$/.test(name) && !(name in table)) {
              throw failure("INVALID_ARGUMENTS", `${owner} has no ${name}; it has ${Object.keys(table).join(", ")}`);
            }
            return Reflect.get(table, name, receiver);
          }
        });
        const named = names => Object.fromEntries(names.split(" ").map(name => [name, name]));

        class CKError extends Error {
          constructor(values) {
            super(values.reason || values.serverErrorCode || values.ckErrorCode);
            this.name = "CKError";
            this.ckErrorCode = values.ckErrorCode || values.serverErrorCode || "UNKNOWN_ERROR";
            for (const key of ["serverErrorCode", "reason", "uuid", "retryAfter", "redirectURL", "recordName", "zoneID",
              "subscriptionID", "serverRecord", "shortGUID", "extensionErrorCode"]) {
              if (values[key] !== undefined) this[key] = values[key];
            }
            this.isCKError = true;
            this.isServerError = values.serverErrorCode !== undefined;
          }
        }

        // The server's codes, then those that only this script makes.
        Object.assign(CKError, named("ACCESS_DENIED ATOMIC_ERROR AUTHENTICATION_FAILED AUTHENTICATION_REQUIRED BAD_REQUEST CONFLICT EXISTS "
          + "INTERNAL_ERROR NOT_FOUND QUOTA_EXCEEDED THROTTLED TRY_AGAIN_LATER UNIQUE_FIELD_ERROR VALIDATING_REFERENCE_ERROR ZONE_NOT_FOUND "
          + "AUTH_PERSIST_ERROR CONFIGURATION_ERROR INVALID_ARGUMENTS NETWORK_ERROR SERVICE_UNAVAILABLE SHARE_UI_TIMEOUT SIGN_IN_FAILED "
          + "UNEXPECTED_SERVER_RESPONSE UNKNOWN_ERROR"));

        const failure = (ckErrorCode, reason) => new CKError({ ckErrorCode, reason });
        const unexpected = reason => failure("UNEXPECTED_SERVER_RESPONSE", reason);

        /** Makes methods answer with a promise that can only be rejected with a CKError, whatever they were called with. */
        const promising = (kind, names) => {
          for (const name of names) {
            const work = kind.prototype[name];
            kind.prototype[name] = async function (...values) {
              try {
                return await work.apply(this, values);
              } catch (error) {
                throw error instanceof CKError ? error : failure("INVALID_ARGUMENTS", String(error && error.message || error));
              }
            };
          }
        };

        /** What a request answers: results, and the errors of single items. */
        class Response {
          constructor(body, listName) {
            this._body = body;
            const items = body[listName] === undefined || body[listName] === null ? [] : body[listName];
            if (!Array.isArray(items) || items.some(item => item === null || typeof item !== "object")) {
              throw unexpected(`the answer's '${listName}' is no list of dictionaries`);
            }
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
          get query() { return this._query; }
          get resultsLimit() { return this._options && this._options.resultsLimit; }
          get continuationMarker() { return this._body.continuationMarker; }
          get moreComing() { return Boolean(this._body.continuationMarker); }
        }

        class RecordZonesResponse extends Response {
          constructor(body) { super(body, "zones"); }
          get zones() { return this._results; }
          get syncToken() { return this._body.syncToken; }
          get moreComing() { return Boolean(this._body.moreComing); }
        }

        class DatabaseChangesResponse extends RecordZonesResponse {}

        class RecordZoneChangesResponse extends Response {
          constructor(body) { super(body, "zones"); }
          get zones() { return this._results; }
        }

        class SubscriptionsResponse extends Response {
          constructor(body) { super(body, "subscriptions"); }
          get subscriptions() { return this._results; }
        }

        class RecordChangesResponse extends RecordsResponse {
          get moreComing() { return Boolean(this._body.moreComing); }
        }

        class RecordZoneListChangesResponse extends RecordZonesResponse {
          get syncToken() { return this._body.metaSyncToken; }
        }

        class UserIdentitiesResponse extends Response {
          constructor(body) { super(body, "users"); }
          get users() { return this._results; }
        }

        class UserInfosResponse extends UserIdentitiesResponse {}

        class RecordInfosResponse extends Response {
          constructor(body) { super(body, "results"); }
          get results() { return this._results; }
        }

        const responseKinds = {
          RecordsResponse, QueryResponse, RecordZonesResponse, DatabaseChangesResponse, RecordZoneChangesResponse, SubscriptionsResponse,
          RecordChangesResponse, RecordZoneListChangesResponse, UserIdentitiesResponse, UserInfosResponse, RecordInfosResponse
        };
        /** `isQueryResponse` and its like. */
        for (const [name, kind] of Object.entries(responseKinds)) {
          Object.defineProperty(Response.prototype, "is" + name, { get() { return this instanceof kind; } });
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

        // Values of fields. Dates, bytes and big integers are what JSON has no form for.

        const isA = (value, name) => Object.prototype.toString.call(value) === `[object ${name}]`;
        const isFile = value => isA(value, "Blob") || isA(value, "File");
        const isBytes = value => ArrayBuffer.isView(value) || isA(value, "ArrayBuffer");
        const typeOf = value => Array.isArray(value) ? (value.length && typeOf(value[0]) ? typeOf(value[0]) + "_LIST" : undefined)
          : isA(value, "Date") ? "TIMESTAMP" : isBytes(value) ? "BYTES" : typeof value === "bigint" ? "INT64" : undefined;
        const base64 = value => {
          const bytes = ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value);
          let text = "";
          for (let start = 0; start < bytes.length; start += 8192) text += String.fromCharCode(...bytes.subarray(start, start + 8192));
          return btoa(text);
        };
        const plain = value => {
          if (Array.isArray(value)) return value.map(plain);
          if (isA(value, "Date")) return value.getTime();
          if (isBytes(value)) return base64(value);
          if (isFile(value)) throw failure("INVALID_ARGUMENTS", "a file is no value here: only fields of records have files");
          return typeof value === "bigint" ? String(value) : value;
        };
        const field = value => {
          const given = value !== null && typeof value === "object" && "value" in value ? value : { value };
          if (given.value === undefined) throw failure("INVALID_ARGUMENTS", "a field has no value: null removes it");
          const type = given.type === undefined ? typeOf(given.value) : undefined;
          return { ...given, value: plain(given.value), ...(type ? { type } : {}) };
        };
        /** The files of a field: one, a list of nothing else, or none. */
        const filesOf = given => {
          const value = given !== null && typeof given === "object" && "value" in given ? given.value : given;
          return isFile(value) ? [value] : Array.isArray(value) && value.length && value.every(isFile) ? value : [];
        };
        // Constants and the protocol have different words for people of a share.
        const participant = value => value === null || typeof value !== "object" ? value : {
          ...value,
          ...(value.type === "PRIVATE_USER" ? { type: "USER" } : {}),
          ...(value.acceptanceStatus === "PENDING" ? { acceptanceStatus: "INVITED" } : {})
        };
        /** A record as it is sent. Files stay in their fields: they are sent before it. */
        const record = value => {
          if (value === null || typeof value !== "object") throw failure("INVALID_ARGUMENTS", "a record is a dictionary");
          const sent = Array.isArray(value.participants) ? { ...value, participants: value.participants.map(participant) } : value;
          if (!value.fields) return sent;
          const fields = {};
          for (const key of Object.keys(value.fields)) {
            const given = value.fields[key];
            // As in JSON, what is undefined is not there.
            if (given !== undefined) fields[key] = filesOf(given).length ? given : field(given);
          }
          return { ...sent, fields };
        };

        /** The text of a request. What JSON would quietly make null of, or leave out, is an error. */
        const encoded = body => JSON.stringify(body, (key, value) => {
          if (typeof value === "number" && !Number.isFinite(value)) throw failure("INVALID_ARGUMENTS", `'${key}' is no finite number`);
          if (["bigint", "function", "symbol"].includes(typeof value)) throw failure("INVALID_ARGUMENTS", `'${key}' is a ${typeof value}`);
          return value;
        });

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
