// SPDX-License-Identifier: Apache-2.0
(() => {
"use strict";
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
      throw unexpected(`the response's '${listName}' isn't a list of dictionaries`);
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
// The zone of a record itself, as records of a response have it; `options` name the zone of all others.
const ownZone = value => value && value.zoneID ? { zoneID: zoneID(value.zoneID) } : {};

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
  if (isFile(value)) throw failure("INVALID_ARGUMENTS", "a file isn't valid here: only fields of records have files");
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
  if (typeof value === "number" && !Number.isFinite(value)) throw failure("INVALID_ARGUMENTS", `'${key}' isn't a finite number`);
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

class Container {
  constructor(config, services) {
    if (!config || !config.containerIdentifier) throw failure("CONFIGURATION_ERROR", "a container needs a containerIdentifier");
    // Pages of the server itself are signed in already: `sessionAuth` has the headers that prove it.
    if (!config.sessionAuth && (!config.apiTokenAuth || !config.apiTokenAuth.apiToken)) {
      throw failure("CONFIGURATION_ERROR", config.serverToServerKeyAuth
        ? "a page cannot keep a key's secret: sign requests in a program of your own, or use apiTokenAuth"
        : "a container needs apiTokenAuth with an apiToken");
    }
    this._config = { environment: "production", ...config, apiTokenAuth: config.apiTokenAuth || {} };
    try { new URL(config.server || serverAddress); } catch { throw failure("CONFIGURATION_ERROR", "the server has no address"); }
    this._services = services;
    this._token = null;
    // Of the signed-in person: a response that arrives after its end has a token of another one.
    this._session = {};
    this._identity = null;
    this._waiters = { in: [], out: [] };
    this._listeners = [];
    this._courier = null;
    if (this._config.apiTokenAuth.persist) this._token = services.authTokenStore.getToken(this.containerIdentifier) || null;
    this.publicCloudDatabase = new Database(this, "public");
    this.privateCloudDatabase = new Database(this, "private");
    this.sharedCloudDatabase = new Database(this, "shared");
  }

  get containerIdentifier() { return this._config.containerIdentifier; }
  get environment() { return this._config.environment; }
  get apnsEnvironment() { return this._config.apnsEnvironment || this._config.environment; }
  /** What the container was configured with; changing it changes nothing. */
  getConfig() { return JSON.parse(JSON.stringify(this._config)); }
  get isRegisteredForNotifications() { return this._courier !== null; }

  getDatabaseWithDatabaseScope(scope) {
    const name = String(scope).toLowerCase();
    if (!["public", "private", "shared"].includes(name)) throw failure("INVALID_ARGUMENTS", "the database scope is public, private or shared");
    return this[name + "CloudDatabase"];
  }

  // Requests

  async _send(path, body, method) {
    const session = this._session;
    const address = new URL((this._config.server || serverAddress) + path);
    if (this._config.apiTokenAuth.apiToken) address.searchParams.set("ckAPIToken", this._config.apiTokenAuth.apiToken);
    if (this._token) address.searchParams.set("ckWebAuthToken", this._token);
    address.searchParams.set("clientId", this._services.clientID);
    const { answer, text } = await this._exchange(address.href, {
      method: method || (body === undefined ? "GET" : "POST"),
      body: body === undefined ? undefined : encoded(body),
      headers: {
        ...(body === undefined ? {} : { "Content-Type": "text/plain" }),
        ...(this._config.sessionAuth ? this._config.sessionAuth.headers : {})
      }
    });
    const next = answer.headers.get("X-Apple-CloudKit-Web-Auth-Token");
    if (next && this._token && session === this._session) this._keep(next);
    return this._values(answer, text);
  }

  /** One request with its whole answer, or an error once `seconds` are over. */
  async _exchange(address, options, seconds = this._services.timeoutSeconds) {
    const stop = new AbortController();
    if (options.signal) options.signal.addEventListener("abort", () => stop.abort());
    let timer;
    const late = new Promise((resolve, reject) => {
      timer = setTimeout(() => {
        reject(failure("NETWORK_ERROR", `there was no answer within ${seconds} seconds`));
        stop.abort();
      }, seconds * 1000);
    });
    const ask = async () => {
      const answer = await this._services.fetch(address, { ...options, signal: stop.signal });
      return { answer, text: await answer.text() };
    };
    try {
      return await Promise.race([ask(), late]);
    } catch (error) {
      throw error instanceof CKError ? error : failure("NETWORK_ERROR", String(error && error.message || error));
    } finally {
      clearTimeout(timer);
    }
  }

  /** The dictionary of an answer. */
  _values(answer, text) {
    let values;
    try { values = JSON.parse(text); } catch { throw unexpected(`the response isn't JSON (status ${answer.status})`); }
    if (values === null || typeof values !== "object" || Array.isArray(values)) throw unexpected("the response isn't a dictionary");
    if (values.serverErrorCode) throw new CKError(values);
    if (!answer.ok) throw unexpected("status " + answer.status);
    return values;
  }

  _path(root, rest) {
    return `/${root}/1/${encodeURIComponent(this.containerIdentifier)}/${encodeURIComponent(this.environment)}/${rest}`;
  }

  _database(scope, operation, body, method) { return this._send(this._path("database", `${scope}/${operation}`), body, method); }

  _keep(token) {
    this._token = token;
    if (this._config.apiTokenAuth.persist) this._services.authTokenStore.putToken(this.containerIdentifier, token);
  }

  _start(token) {
    this._session = {};
    this._keep(token);
  }

  // People

  /** Resolves with the signed-in person, or with null and a sign-in button in its place on the page. */
  async setUpAuth(options) {
    const auth = { ...this._config.apiTokenAuth, ...options };
    try {
      const identity = await this.fetchCurrentUserIdentity();
      this._place(auth, true);
      this._settle(identity);
      return identity;
    } catch (error) {
      const isRefused = error.ckErrorCode === "AUTHENTICATION_REQUIRED" || error.ckErrorCode === "AUTHENTICATION_FAILED";
      if (isRefused && this._token) {
        // The token was of an old session.
        this._start(null);
        return this.setUpAuth(options);
      }
      if (error.ckErrorCode !== "AUTHENTICATION_REQUIRED") throw error;
      this._redirect = error.redirectURL;
      this._place(auth, false);
      this._settle(null);
      return null;
    }
  }

  /** Resolves the promises of `whenUserSignsIn` or `whenUserSignsOut`: a session of an earlier visit is a sign-in, its end a sign-out. */
  _settle(identity) {
    this._identity = identity;
    for (const waiter of this._waiters[identity ? "in" : "out"].splice(0)) waiter.resolve(identity || undefined);
  }

  whenUserSignsIn() {
    return this._identity ? Promise.resolve(this._identity) : new Promise((resolve, reject) => this._waiters.in.push({ resolve, reject }));
  }

  whenUserSignsOut() {
    return !this._identity ? Promise.resolve() : new Promise((resolve, reject) => this._waiters.out.push({ resolve, reject }));
  }

  /** Opens the sign-in page in a window and waits for the token that it hands over. */
  async signIn() {
    if (!this._redirect) throw failure("SIGN_IN_FAILED", "call setUpAuth first");
    const origin = new URL(this._redirect).origin;
    const window_ = window.open(this._redirect, "_blank", "popup,width=480,height=560");
    if (!window_) throw failure("SIGN_IN_FAILED", "the browser opened no window");
    return new Promise((resolve, reject) => {
      const stop = () => {
        window.removeEventListener("message", listen);
        clearInterval(watch);
      };
      const watch = setInterval(() => {
        if (!window_.closed) return;
        stop();
        reject(failure("SIGN_IN_FAILED", "the window was closed"));
      }, 500);
      const listen = async event => {
        if (event.origin !== origin || !event.data || !event.data.ckWebAuthToken) return;
        stop();
        window_.close();
        this._start(event.data.ckWebAuthToken);
        try {
          resolve(await this.setUpAuth());
        } catch (error) { reject(error); }
      };
      window.addEventListener("message", listen);
    });
  }

  async signOut() {
    this._start(null);
    this._identity = null;
    this.unregisterForNotifications();
    await this.setUpAuth();
    for (const waiter of this._waiters.out.splice(0)) waiter.resolve();
  }

  _place(auth, isSignedIn) {
    const places = {
      in: document.getElementById((auth.signInButton && auth.signInButton.id) || "apple-sign-in-button"),
      out: document.getElementById((auth.signOutButton && auth.signOutButton.id) || "apple-sign-out-button")
    };
    for (const place of Object.values(places)) if (place) place.replaceChildren();
    const place = isSignedIn ? places.out : places.in;
    if (!place) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = isSignedIn ? "Sign out" : "Sign in";
    button.addEventListener("click", () => {
      (isSignedIn ? this.signOut() : this.signIn()).catch(error => this._services.logger.error(error));
    });
    place.append(button);
  }

  async fetchCurrentUserIdentity() {
    const answer = await this._database("public", "users/caller");
    // Documents and practice differ.
    const identity = Array.isArray(answer.users) ? answer.users[0] : answer;
    if (!identity || typeof identity.userRecordName !== "string") throw unexpected("the answer has no userRecordName");
    return identity;
  }

  async _discover(lookupInfos) {
    return new UserIdentitiesResponse(await this._database("public", "users/discover", { lookupInfos }));
  }
  discoverUserIdentities(infos) { return this._discover(array(infos)); }
  discoverUserIdentityWithEmailAddress(emailAddress) { return this._discover([{ emailAddress }]); }
  discoverUserIdentityWithPhoneNumber(phoneNumber) { return this._discover([{ phoneNumber }]); }
  discoverUserIdentityWithUserRecordName(userRecordName) { return this._discover([{ userRecordName }]); }
  async discoverAllUserIdentities() {
    return new UserIdentitiesResponse(await this._database("public", "users/discover"));
  }

  // The older forms, which answer names in place of identities

  fetchUserInfo() { return this._database("public", "users/current"); }
  async _userInfos(kind, body) { return new UserInfosResponse(await this._database("public", "users/lookup/" + kind, body)); }
  discoverUserInfoWithEmailAddress(emailAddress) { return this._userInfos("email", { users: [{ emailAddress }] }); }
  discoverUserInfoWithUserRecordName(userRecordName) { return this._userInfos("id", { users: [{ userRecordName }] }); }
  discoverAllContactUserInfos() { return this._userInfos("contacts", { contacts: [] }); }

  /** People agree to be found in their profile, which the server's operator keeps. */
  async requestApplicationPermission() {
    throw failure("SERVICE_UNAVAILABLE", "this server asks nobody for permission: 'tarn user profile NAME --discoverable' lets a user be found, "
      + "and discoverUserIdentities finds who is");
  }

  // Shares

  async _guids(operation, guids) {
    const shortGUIDs = array(guids).map(guid => typeof guid === "string" ? { value: guid, shouldFetchRootRecord: true } : guid);
    return new RecordInfosResponse(await this._database("public", operation, { shortGUIDs }));
  }
  fetchRecordInfos(guids) { return this._guids("records/resolve", guids); }
  acceptShares(guids) { return this._guids("records/accept", guids); }

  // Notifications

  addNotificationListener(listener) { this._listeners.push(listener); }
  removeNotificationListener(listener) { this._listeners = this._listeners.filter(other => other !== listener); }

  async registerForNotifications() {
    if (this._courier) return;
    const register = (operation, values) => this._send(this._path("device", "tokens/" + operation), {
      apnsEnvironment: this.apnsEnvironment, clientId: this._services.clientID, ...values
    });
    const created = await register("create", {});
    if (typeof created.webcourierURL !== "string") throw unexpected("the answer has no webcourierURL");
    await register("register", { apnsToken: created.apnsToken });
    if (this._courier) return;
    this._courier = new AbortController();
    this._listen(created.webcourierURL, this._courier.signal);
  }

  async _registerAnew(signal) {
    if (signal.aborted) return;
    this._courier = null;
    try { await this.registerForNotifications(); } catch (error) { this._services.logger.error(error); }
  }

  _tell(notification) {
    for (const listener of this._listeners) {
      try { listener(notification); } catch (error) { this._services.logger.error(error); }
    }
  }

  unregisterForNotifications() {
    if (this._courier) this._courier.abort();
    this._courier = null;
  }

  async _listen(address, signal) {
    let pause = 0;
    while (!signal.aborted) {
      try {
        // Longer than the server holds a request.
        const { answer, text } = await this._exchange(address, { signal }, 2 * this._services.timeoutSeconds);
        // The address has expired, or its credential was revoked: the user's present credential may get another.
        if (answer.status === 401) return void this._registerAnew(signal);
        if (!answer.ok) throw failure("SERVICE_UNAVAILABLE", "status " + answer.status);
        if (text) this._tell(CKNotification.of(JSON.parse(text)));
        pause = 0;
      } catch (error) {
        if (signal.aborted) return;
        pause = Math.min(pause * 2 || 500, 30000);
        await new Promise(resolve => setTimeout(resolve, pause));
      }
    }
  }
}

promising(Container, ["setUpAuth", "whenUserSignsIn", "whenUserSignsOut", "signIn", "signOut", "fetchCurrentUserIdentity",
  "discoverUserIdentities", "discoverUserIdentityWithEmailAddress", "discoverUserIdentityWithPhoneNumber",
  "discoverUserIdentityWithUserRecordName", "discoverAllUserIdentities", "fetchUserInfo",
  "discoverUserInfoWithEmailAddress", "discoverUserInfoWithUserRecordName", "discoverAllContactUserInfos", "fetchRecordInfos", "acceptShares", "requestApplicationPermission",
  "registerForNotifications"]);

const subscriptionTypes = { QUERY: "query", RECORD_ZONE: "zone", DATABASE: "database" };
const subscription = value => ({ ...value, subscriptionType: subscriptionTypes[value.subscriptionType] || value.subscriptionType });

class Database {
  constructor(container, scope) {
    this._container = container;
    this._scope = scope;
  }

  get databaseScope() { return this._scope.toUpperCase(); }
  get isPublic() { return this._scope === "public"; }
  get isPublicDatabase() { return this._scope === "public"; }
  get isPrivateDatabase() { return this._scope === "private"; }
  get isSharedDatabase() { return this._scope === "shared"; }
  get isPrivate() { return this._scope === "private"; }
  get isShared() { return this._scope === "shared"; }
  get containerIdentifier() { return this._container.containerIdentifier; }

  _post(operation, body, method) { return this._container._database(this._scope, operation, body, method); }

  // Records

  async performQuery(query, options) {
    if (query instanceof QueryResponse) {
      if (!query.moreComing) throw failure("INVALID_ARGUMENTS", "the query has no further page");
      return this.performQuery(query._query, { ...query._options, continuationMarker: query.continuationMarker });
    }
    const { filterBy, sortBy } = query;
    const body = {
      query: {
        ...query,
        ...(filterBy ? { filterBy: array(filterBy).map(filter => ({ ...filter, fieldValue: field(filter.fieldValue) })) } : {}),
        ...(sortBy ? { sortBy: array(sortBy) } : {})
      },
      ...pick(options, ["resultsLimit", "continuationMarker", "desiredKeys", "zoneWide", "numbersAsStrings"]), ...withZone(options)
    };
    return new QueryResponse(await this._post("records/query", body), query, options);
  }

  async fetchRecords(records, options) {
    return new RecordsResponse(await this._post("records/lookup", {
      records: array(records).map(value => ({ recordName: recordName(value), ...ownZone(value) })),
      ...pick(options, ["desiredKeys", "numbersAsStrings"]), ...withZone(options)
    }));
  }

  /** Creates what has no change tag, and updates what has one. */
  saveRecords(records, options) {
    return this._modify(array(records).map(value => ({
      operationType: value.recordChangeTag ? "update" : "create", record: record(value)
    })), options);
  }

  deleteRecords(records, options) {
    return this._modify(array(records).map(value => ({
      operationType: value.recordChangeTag ? "delete" : "forceDelete",
      record: { recordName: recordName(value), ...ownZone(value), ...pick(typeof value === "string" ? {} : value, ["recordChangeTag"]) }
    })), options);
  }

  async _modify(operations, options) {
    const sent = [];
    for (const operation of operations) sent.push({ ...operation, record: await this._withFilesSent(operation.record, options) });
    operations = sent;
    return new RecordsResponse(await this._post("records/modify", {
      operations, ...pick(options, ["atomic", "desiredKeys", "numbersAsStrings"]), ...withZone(options)
    }));
  }

  /** The record with a receipt for each of its files. One without a name gets the name that its first file was sent for. */
  async _withFilesSent(record, options) {
    let { recordName } = record;
    const fields = { ...record.fields };
    const named = record.zoneID ? { zoneID: record.zoneID } : options;
    for (const fieldName of Object.keys(fields)) {
      const files = filesOf(fields[fieldName]);
      const values = [];
      for (const file of files) {
        const sent = await this.uploadAsset(file, { recordType: record.recordType, recordName, fieldName }, named);
        recordName = sent.recordName;
        values.push(sent.value);
      }
      if (!files.length) continue;
      fields[fieldName] = Array.isArray(fields[fieldName].value || fields[fieldName])
        ? { value: values, type: "ASSETID_LIST" } : { value: values[0], type: "ASSETID" };
    }
    return record.fields ? { ...record, ...(recordName ? { recordName } : {}), fields } : record;
  }

  newRecordsBatch(options) { return new RecordsBatch(this, options); }

  // Zones

  async fetchAllRecordZones() { return new RecordZonesResponse(await this._post("zones/list")); }
  async fetchRecordZones(zones) {
    return new RecordZonesResponse(await this._post("zones/lookup", { zones: array(zones).map(zoneID) }));
  }
  saveRecordZones(zones) { return this._zones("create", zones); }
  deleteRecordZones(zones) { return this._zones("delete", zones); }
  async _zones(operationType, zones) {
    const operations = array(zones).map(zone => ({ operationType, zone: { zoneID: zoneID(zone) } }));
    return new RecordZonesResponse(await this._post("zones/modify", { operations }));
  }

  // Changes

  async fetchDatabaseChanges(options) {
    return new DatabaseChangesResponse(await this._post("changes/database", pick(options, ["syncToken", "resultsLimit"])));
  }

  async fetchRecordZoneChanges(zones, options) {
    const queries = array(zones).map(zone => ({
      zoneID: zoneID(zone),
      ...pick(typeof zone === "string" ? {} : zone, ["syncToken", "resultsLimit", "desiredKeys", "desiredRecordTypes", "reverse"])
    }));
    return new RecordZoneChangesResponse(await this._post("changes/zone", {
      zones: queries, ...pick(options, ["resultsLimit", "desiredKeys", "desiredRecordTypes", "reverse", "numbersAsStrings"])
    }));
  }

  // The older forms, which the documents still have

  async fetchChangedRecordZones(options) {
    const { syncToken } = options || {};
    return new RecordZoneListChangesResponse(await this._post("zones/changes", {
      ...pick(options, ["resultsLimit"]), ...(syncToken === undefined ? {} : { metaSyncToken: syncToken })
    }));
  }

  async fetchChangedRecords(options) {
    return new RecordChangesResponse(await this._post("records/changes", {
      ...pick(options, ["syncToken", "resultsLimit", "desiredKeys", "reverse", "numbersAsStrings"]), ...withZone(options)
    }));
  }

  // Subscriptions

  async fetchAllSubscriptions() { return new SubscriptionsResponse(await this._post("subscriptions/list")); }
  async fetchSubscriptions(subscriptions) {
    const ids = array(subscriptions).map(value => ({ subscriptionID: typeof value === "string" ? value : value.subscriptionID }));
    return new SubscriptionsResponse(await this._post("subscriptions/lookup", { subscriptions: ids }));
  }
  async saveSubscriptions(subscriptions) {
    const operations = array(subscriptions).map(value => ({ operationType: "create", subscription: subscription(value) }));
    return new SubscriptionsResponse(await this._post("subscriptions/modify", { operations }));
  }
  async deleteSubscriptions(subscriptions) {
    const operations = array(subscriptions).map(value => ({
      operationType: "delete", subscription: { subscriptionID: typeof value === "string" ? value : value.subscriptionID }
    }));
    return new SubscriptionsResponse(await this._post("subscriptions/modify", { operations }));
  }

  // Sharing

  /** There is no page for it here, as there is on iCloud. */
  async shareWithUI() {
    throw failure("SERVICE_UNAVAILABLE", "this server has no sharing page: save a record of type 'cloudkit.share' with forRecord, "
      + "publicPermission and participants, and hand its shortGUID to acceptShares of those who shall have it");
  }

  // Assets

  /** Sends a file and resolves with the value to save in the record's field. */
  async uploadAsset(file, target, options) {
    if (file === undefined || file === null) throw failure("INVALID_ARGUMENTS", "the file is missing");
    const answer = await this._post("assets/upload", {
      tokens: [pick(target, ["recordType", "recordName", "fieldName"])], ...withZone(options)
    });
    const token = answer.tokens && answer.tokens[0];
    if (!token) throw unexpected("the answer has no tokens");
    if (token.serverErrorCode) throw new CKError(token);
    // A slow connection sends 16 KiB in a second.
    const seconds = this._container._services.timeoutSeconds + (file.size || file.byteLength || 0) / 16384;
    const { answer: sent, text } = await this._container._exchange(token.url, { method: "POST", body: file }, seconds);
    const values = this._container._values(sent, text);
    if (!values.singleFile) throw unexpected("the answer has no singleFile");
    return { recordName: token.recordName, value: values.singleFile };
  }
}

promising(Database, ["performQuery", "fetchRecords", "saveRecords", "deleteRecords", "fetchAllRecordZones", "fetchRecordZones",
  "saveRecordZones", "deleteRecordZones", "fetchDatabaseChanges", "fetchRecordZoneChanges", "fetchChangedRecordZones",
  "fetchChangedRecords", "shareWithUI", "fetchAllSubscriptions", "fetchSubscriptions", "saveSubscriptions", "deleteSubscriptions", "uploadAsset"]);

/** What a subscription says when it fires. */
class CKNotification {
  constructor(payload) {
    const ck = payload.ck || {};
    const part = ck.qry || ck.fet || ck.met || {};
    this.notificationID = ck.nid;
    this.containerIdentifier = ck.cid;
    this.notificationType = ck.qry ? "QUERY" : ck.fet ? "RECORD_ZONE" : "DATABASE";
    this.subscriptionID = part.sid;
    this.zoneID = part.zid ? { zoneName: part.zid, ownerRecordName: part.zoid } : undefined;
    this.databaseScope = { 1: "PUBLIC", 2: "PRIVATE", 3: "SHARED" }[part.dbs];
    this.isPublicDatabase = part.dbs === 1;
    this.isQueryNotification = Boolean(ck.qry);
    this.isRecordZoneNotification = Boolean(ck.fet);
    this.isPruned = Boolean(ck.p);
    const aps = payload.aps || {};
    const alert = typeof aps.alert === "string" ? { body: aps.alert } : aps.alert || {};
    this.alertBody = alert.body;
    this.alertLocalizationKey = alert["loc-key"];
    this.alertLocalizationArgs = alert["loc-args"];
    this.alertActionLocalizationKey = alert["action-loc-key"];
    this.alertLaunchImage = alert["launch-image"];
    this.soundName = aps.sound;
    this.badge = aps.badge;
    this.category = aps.category;
  }
  static of(payload) {
    const ck = payload.ck || {};
    return ck.qry ? new QueryNotification(payload) : ck.fet ? new RecordZoneNotification(payload) : new CKNotification(payload);
  }
}

class QueryNotification extends CKNotification {
  constructor(payload) {
    super(payload);
    const match = (payload.ck || {}).qry || {};
    this.recordName = match.rid;
    this.queryNotificationReason = { 1: "RECORD_CREATED", 2: "RECORD_UPDATED", 3: "RECORD_DELETED" }[match.fo];
    this.recordFields = match.af;
    this.fields = match.af;
  }
}

class RecordZoneNotification extends CKNotification {}

/** Operations of several kinds that are sent as one. */
class RecordsBatch {
  constructor(database, options) {
    this._database = database;
    this._options = options;
    this._operations = [];
  }
  /** What cannot be sent is the error of `commit`. */
  _add(operationType, records) {
    try {
      for (const value of array(records)) {
        this._operations.push({ operationType, record: typeof value === "string" ? { recordName: value } : record(value) });
      }
    } catch (error) {
      this._failure = this._failure || error;
    }
    return this;
  }
  create(records) { return this._add("create", records); }
  update(records) { return this._add("update", records); }
  forceUpdate(records) { return this._add("forceUpdate", records); }
  replace(records) { return this._add("replace", records); }
  forceReplace(records) { return this._add("forceReplace", records); }
  delete(records) { return this._add("delete", records); }
  forceDelete(records) { return this._add("forceDelete", records); }
  createOrUpdate(records) {
    for (const value of array(records)) this._add(value && value.recordChangeTag ? "update" : "create", [value]);
    return this;
  }
  commit() {
    if (this._failure) throw this._failure;
    return this._database._modify(this._operations, this._options);
  }
}
promising(RecordsBatch, ["commit"]);

const configured = { containers: [], services: null };

const CloudKit = {
  CKError: constants("CloudKit.CKError", CKError),
  ...responseKinds, Response, Container, Database, RecordsBatch, Notification: CKNotification, QueryNotification, RecordZoneNotification,
  ...Object.fromEntries(Object.entries({
    QueryFilterComparator: named("EQUALS NOT_EQUALS LESS_THAN LESS_THAN_OR_EQUALS GREATER_THAN GREATER_THAN_OR_EQUALS NEAR "
      + "CONTAINS_ALL_TOKENS CONTAINS_ANY_TOKENS IN NOT_IN LIST_CONTAINS NOT_LIST_CONTAINS LIST_CONTAINS_ANY "
      + "NOT_LIST_CONTAINS_ANY LIST_CONTAINS_ALL NOT_LIST_CONTAINS_ALL BEGINS_WITH NOT_BEGINS_WITH "
      + "LIST_MEMBER_BEGINS_WITH NOT_LIST_MEMBER_BEGINS_WITH"),
    ReferenceAction: named("NONE DELETE_SELF VALIDATE"),
    DatabaseScope: named("PUBLIC PRIVATE SHARED"),
    ShareParticipantPermission: named("NONE READ_ONLY READ_WRITE UNKNOWN"),
    // What shares and subscriptions that are fetched have, under the names of the documents.
    ShareParticipantType: { OWNER: "OWNER", PRIVATE_USER: "USER", PUBLIC_USER: "PUBLIC_USER", UNKNOWN: "UNKNOWN" },
    ShareParticipantAcceptanceStatus: { ACCEPTED: "ACCEPTED", PENDING: "INVITED", UNKNOWN: "UNKNOWN" },
    SubscriptionType: { ...subscriptionTypes },
    // Buttons look as the page's style has them.
    AppleIDButtonTheme: named("BLACK WHITE WHITE_WITH_OUTLINE"),
    NotificationType: named("QUERY RECORD_ZONE DATABASE"),
    QueryNotificationReason: named("RECORD_CREATED RECORD_UPDATED RECORD_DELETED")
  }).map(([name, values]) => [name, constants("CloudKit." + name, values)])),
  ShareRecordType: "cloudkit.share",
  DEVELOPMENT_ENVIRONMENT: "development",
  PRODUCTION_ENVIRONMENT: "production",

  configure(config) {
    if (config === null || typeof config !== "object") throw failure("CONFIGURATION_ERROR", "the configuration is missing");
    configured.services = {
      // `timeoutSeconds` is how long an answer may take; a file has more time by its size.
      fetch: (...values) => fetch(...values), logger: console, authTokenStore: cookieStore, timeoutSeconds: 60,
      clientID: Array.from(crypto.getRandomValues(new Uint8Array(8)), byte => byte.toString(16).padStart(2, "0")).join(""),
      ...(config.services || {})
    };
    configured.containers = array(config.containers).map(values => new Container(values, configured.services));
    return CloudKit;
  },
  getDefaultContainer() {
    if (!configured.containers.length) throw failure("CONFIGURATION_ERROR", "call CloudKit.configure first");
    return configured.containers[0];
  },
  getContainer(identifier) {
    const found = configured.containers.find(container => container.containerIdentifier === identifier);
    if (!found) throw failure("CONFIGURATION_ERROR", "no such container was configured");
    return found;
  },
  getAllContainers() { return configured.containers; }
};
window.CloudKit = CloudKit;
window.dispatchEvent(new Event("cloudkitloaded"));
})();
