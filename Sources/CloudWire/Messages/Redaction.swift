// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A value with secrets, which are omitted from its description, from crash reports and from `dump`.
package protocol RedactsSecrets: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The children to show.
    var redactedChildren: KeyValuePairs<String, Any> { get }
}

extension RedactsSecrets {
    package var description: String {
        "\(Self.self)(" + redactedChildren.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + ")"
    }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: redactedChildren.map { (label: Optional($0.key), value: $0.value) }) }
}

extension AssetValue: RedactsSecrets {
    /// Without the receipt and the address, which authorize access to the content, and without its key.
    package var redactedChildren: KeyValuePairs<String, Any> { ["fileChecksum": fileChecksum, "size": size] }
}

extension AssetUploadAddress: RedactsSecrets {
    package var redactedChildren: KeyValuePairs<String, Any> { ["recordName": recordName, "fieldName": fieldName] }
}

extension PushTokenResponse: RedactsSecrets {
    package var redactedChildren: KeyValuePairs<String, Any> { [:] }
}

extension PushTokenRequest: RedactsSecrets {
    package var redactedChildren: KeyValuePairs<String, Any> { ["apnsEnvironment": apnsEnvironment] }
}

extension WebAuthTokenRequest: RedactsSecrets {
    package var redactedChildren: KeyValuePairs<String, Any> { [:] }
}

extension WebAuthTokenResponse: RedactsSecrets {
    package var redactedChildren: KeyValuePairs<String, Any> { [:] }
}

extension ShortGUID: RedactsSecrets {
    /// Without the value, which lets anyone with it join an open share.
    package var redactedChildren: KeyValuePairs<String, Any> { ["shouldFetchRootRecord": shouldFetchRootRecord] }
}

extension RecordSharing: RedactsSecrets {
    /// Without the link.
    package var redactedChildren: KeyValuePairs<String, Any> {
        ["parent": parent as Any, "share": share as Any, "details": details as Any]
    }
}

extension ShareParticipant: RedactsSecrets {
    /// Without the participant's personal link.
    package var redactedChildren: KeyValuePairs<String, Any> {
        [
            "participantID": participantID as Any, "identity": identity, "kind": kind, "permission": permission, "status": status,
        ]
    }
}
