// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension CloudKitScript {
    /// `Database` of `/cloudkit.js`.
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
          "saveRecordZones", "deleteRecordZones", "fetchDatabaseChanges", "fetchRecordZoneChanges", "fetchChangedRecordZones",
          "fetchChangedRecords", "shareWithUI", "fetchAllSubscriptions", "fetchSubscriptions", "saveSubscriptions", "deleteSubscriptions", "uploadAsset"]);
        """#
}
