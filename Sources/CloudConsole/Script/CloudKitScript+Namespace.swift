// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension CloudKitScript {
    /// Notifications, batches and `CloudKit` itself of `/cloudkit.js`.
    static let namespace = #"""
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
