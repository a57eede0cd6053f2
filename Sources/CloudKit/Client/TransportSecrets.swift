// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

// What a crash, a log or `dump` prints of what travels leaves out credentials, addresses that prove a right, and bodies.

extension TransportRequest: HidesSecrets {
    package var harmless: KeyValuePairs<String, Any> { ["method": method, "target": target, "bytes": body.byteCount] }
}

extension TransportRequest.Target: HidesSecrets {
    /// Without the address of an asset, which proves a right to the content.
    package var harmless: KeyValuePairs<String, Any> {
        switch self {
        case .service(let path): ["path": path]
        case .asset: [:]
        }
    }
}

extension TransportResponse: HidesSecrets {
    /// Without the headers, of which one may hold the next token.
    package var harmless: KeyValuePairs<String, Any> { ["status": status, "bytes": body.count] }
}

extension TransportStream: HidesSecrets {
    package var harmless: KeyValuePairs<String, Any> { ["status": status] }
}

extension HTTPTransport: HidesSecrets {
    /// Without the token, and without the client, which knows the requests that are under way.
    package var harmless: KeyValuePairs<String, Any> { ["server": server] }
}

extension ConfigurationSources: HidesSecrets {
    /// Without the environment and the content of files, which hold tokens.
    package var harmless: KeyValuePairs<String, Any> {
        ["code": code as Any, "files": files.map(\.path), "searchedPaths": searchedPaths]
    }
}

extension ConfigurationSources.File: HidesSecrets {
    package var harmless: KeyValuePairs<String, Any> { ["path": path] }
}

extension CKFetchWebAuthTokenOperation: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension CKShareMetadata: CustomReflectable {
    /// Without the link.
    public var customMirror: Mirror {
        Mirror(self, children: ["containerIdentifier": containerIdentifier, "share": share.recordID, "participantStatus": participantStatus])
    }
}

extension CKShareParticipant: CustomReflectable {
    /// Without the participant's own link.
    public var customMirror: Mirror {
        Mirror(self, children: ["participantID": participantID, "role": role, "permission": permission, "acceptanceStatus": acceptanceStatus])
    }
}
