// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

// Descriptions of requests and responses for crash reports, logs and `dump`, without credentials, asset addresses and
// bodies.

extension TransportRequest: RedactsSecrets {
    package var redactedChildren: KeyValuePairs<String, Any> { ["method": method, "target": target, "bytes": body.byteCount] }
}

extension TransportRequest.Target: RedactsSecrets {
    /// Without the address of an asset, which grants access to its content.
    package var redactedChildren: KeyValuePairs<String, Any> {
        switch self {
        // The query of web services has tokens.
        case .service(let path): ["path": path.prefix { $0 != "?" }]
        case .asset: [:]
        }
    }
}

extension TransportResponse: RedactsSecrets {
    /// Without the headers, since one may have the next token.
    package var redactedChildren: KeyValuePairs<String, Any> { ["status": status, "bytes": body.count] }
}

extension TransportStream: RedactsSecrets {
    package var redactedChildren: KeyValuePairs<String, Any> { ["status": status] }
}

extension HTTPTransport: RedactsSecrets {
    /// Without the token, and without the client, which holds the requests in flight.
    package var redactedChildren: KeyValuePairs<String, Any> { ["server": server] }
}

extension ConfigurationSources: RedactsSecrets {
    /// Without the environment and the content of files, which have tokens.
    package var redactedChildren: KeyValuePairs<String, Any> {
        ["code": code as Any, "files": files.map(\.path), "searchedPaths": searchedPaths]
    }
}

extension ConfigurationSources.File: RedactsSecrets {
    package var redactedChildren: KeyValuePairs<String, Any> { ["path": path] }
}

extension CKFetchWebAuthTokenOperation: CustomReflectable {
    /// An empty mirror: the operation holds a token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension CKShareMetadata: CustomReflectable {
    /// Without the link.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["containerIdentifier": containerIdentifier, "share": share.recordID, "participantStatus": participantStatus])
    }
}

extension CKShareParticipant: CustomReflectable {
    /// Without the participant's own link.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["participantID": participantID, "role": role, "permission": permission, "acceptanceStatus": acceptanceStatus])
    }
}
