// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension CloudKitScript {
    /// `Database`, batches and `CloudKit` itself of `/cloudkit.js`.
    static let database = #"""
        const subscriptionTypes = { QUERY: "query", RECORD_ZONE: "zone", DATABASE: "database" };
        const subscription = value => ({ ...value, subscriptionType: subscriptionTypes[value.subscriptionType] || value.subscriptionType });

        class Database {
          constructor(container, scope) {
            this._container = container;
            this._scope = scope;
          }

          get databaseScope() { return this._scope.toUpperCase(); }
          get isPublic() { return this._scope === "public"; }
          get isPrivate() { return this._scope === "private"; }
          get isShared() { return this._scope === "shared"; }
          get containerIdentifier() { return this._container.containerIdentifier; }

          _post(operation, body, method) { return this._container._database(this._scope, operation, body, method); }

          // Records

          async performQuery(query, options) {
            if (query instanceof QueryResponse) {
              if (!query.moreComing) throw failure("INVALID_ARGUMENTS", "there is no further page");
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
              records: array(records).map(value => ({ recordName: recordName(value) })),
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
              record: { recordName: recordName(value), ...pick(typeof value === "string" ? {} : value, ["recordChangeTag"]) }
            })), options);
          }

          async _modify(operations, options) {
            return new RecordsResponse(await this._post("records/modify", {
              operations, ...pick(options, ["atomic", "desiredKeys", "numbersAsStrings"]), ...withZone(options)
            }));
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

          // Assets

          /** Sends a file and resolves with the value to save in the record's field. */
          async uploadAsset(file, target, options) {
            if (file === undefined || file === null) throw failure("INVALID_ARGUMENTS", "there is no file");
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
          "saveRecordZones", "deleteRecordZones", "fetchDatabaseChanges", "fetchRecordZoneChanges", "fetchAllSubscriptions",
          "fetchSubscriptions", "saveSubscriptions", "deleteSubscriptions", "uploadAsset"]);

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
          CKError,
          QueryFilterComparator: Object.fromEntries([
            "EQUALS", "NOT_EQUALS", "LESS_THAN", "LESS_THAN_OR_EQUALS", "GREATER_THAN", "GREATER_THAN_OR_EQUALS", "NEAR",
            "CONTAINS_ALL_TOKENS", "CONTAINS_ANY_TOKENS", "IN", "NOT_IN", "LIST_CONTAINS", "NOT_LIST_CONTAINS", "LIST_CONTAINS_ANY",
            "NOT_LIST_CONTAINS_ANY", "LIST_CONTAINS_ALL", "NOT_LIST_CONTAINS_ALL", "BEGINS_WITH", "NOT_BEGINS_WITH",
            "LIST_MEMBER_BEGINS_WITH", "NOT_LIST_MEMBER_BEGINS_WITH"
          ].map(name => [name, name])),
          ReferenceAction: { NONE: "NONE", DELETE_SELF: "DELETE_SELF", VALIDATE: "VALIDATE" },
          DatabaseScope: { PUBLIC: "PUBLIC", PRIVATE: "PRIVATE", SHARED: "SHARED" },
          ShareParticipantPermission: { NONE: "NONE", READ_ONLY: "READ_ONLY", READ_WRITE: "READ_WRITE", UNKNOWN: "UNKNOWN" },
          SubscriptionType: { QUERY: "QUERY", RECORD_ZONE: "RECORD_ZONE", DATABASE: "DATABASE" },
          NotificationType: { QUERY: "QUERY", RECORD_ZONE: "RECORD_ZONE", DATABASE: "DATABASE" },
          QueryNotificationReason: {
            RECORD_CREATED: "RECORD_CREATED", RECORD_UPDATED: "RECORD_UPDATED", RECORD_DELETED: "RECORD_DELETED"
          },
          DEVELOPMENT_ENVIRONMENT: "development",
          PRODUCTION_ENVIRONMENT: "production",

          configure(config) {
            if (config === null || typeof config !== "object") throw failure("CONFIGURATION_ERROR", "there is no configuration");
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
        """#
}
