// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension CloudKitScript {
    /// `Container`: sign-in, people, shares, notifications of `/cloudkit.js`.
    static let container = #"""
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
            if (!["public", "private", "shared"].includes(name)) throw failure("INVALID_ARGUMENTS", "there is no such database");
            return this[name + "CloudDatabase"];
          }

          // Requests

          async _send(path, body, method) {
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
            if (next && this._token) this._keep(next);
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
            try { values = JSON.parse(text); } catch { throw unexpected(`the answer is no JSON (status ${answer.status})`); }
            if (values === null || typeof values !== "object" || Array.isArray(values)) throw unexpected("the answer is no dictionary");
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

          // People

          /** Resolves with the signed-in person, or with null and a sign-in button in its place on the page. */
          async setUpAuth(options) {
            const auth = { ...this._config.apiTokenAuth, ...options };
            try {
              this._identity = await this.fetchCurrentUserIdentity();
              this._place(auth, true);
              return this._identity;
            } catch (error) {
              const isRefused = error.ckErrorCode === "AUTHENTICATION_REQUIRED" || error.ckErrorCode === "AUTHENTICATION_FAILED";
              if (isRefused && this._token) {
                // The token was of an old session.
                this._keep(null);
                return this.setUpAuth(options);
              }
              if (error.ckErrorCode !== "AUTHENTICATION_REQUIRED") throw error;
              this._redirect = error.redirectURL;
              this._place(auth, false);
              return null;
            }
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
                this._keep(event.data.ckWebAuthToken);
                try {
                  const identity = await this.setUpAuth();
                  for (const waiter of this._waiters.in.splice(0)) waiter.resolve(identity);
                  resolve(identity);
                } catch (error) { reject(error); }
              };
              window.addEventListener("message", listen);
            });
          }

          async signOut() {
            this._keep(null);
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
        """#
}
