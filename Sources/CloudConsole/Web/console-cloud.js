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
