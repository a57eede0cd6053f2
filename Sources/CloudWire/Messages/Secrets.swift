// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A value whose description, and what a crash or `dump` prints of it, leaves out what gives access to data.
package protocol HidesSecrets: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What may be shown.
    var harmless: KeyValuePairs<String, Any> { get }
}

extension HidesSecrets {
    package var description: String {
        "\(Self.self)(" + harmless.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + ")"
    }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: harmless.map { (label: Optional($0.key), value: $0.value) }) }
}

extension AssetValue: HidesSecrets {
    /// Without the receipt and the address, which prove a right to the content, and without its key.
    package var harmless: KeyValuePairs<String, Any> { ["fileChecksum": fileChecksum, "size": size] }
}

extension AssetUploadAddress: HidesSecrets {
    package var harmless: KeyValuePairs<String, Any> { ["recordName": recordName, "fieldName": fieldName] }
}

extension PushTokenResponse: HidesSecrets {
    package var harmless: KeyValuePairs<String, Any> { [:] }
}

extension PushTokenRequest: HidesSecrets {
    package var harmless: KeyValuePairs<String, Any> { ["apnsEnvironment": apnsEnvironment] }
}

extension WebAuthTokenRequest: HidesSecrets {
    package var harmless: KeyValuePairs<String, Any> { [:] }
}

extension WebAuthTokenResponse: HidesSecrets {
    package var harmless: KeyValuePairs<String, Any> { [:] }
}

extension ShortGUID: HidesSecrets {
    /// Without the value, by which whoever has it may join a share that is open.
    package var harmless: KeyValuePairs<String, Any> { ["shouldFetchRootRecord": shouldFetchRootRecord] }
}

extension RecordSharing: HidesSecrets {
    /// Without the link.
    package var harmless: KeyValuePairs<String, Any> {
        ["parent": parent as Any, "share": share as Any, "details": details as Any]
    }
}

extension ShareParticipant: HidesSecrets {
    /// Without the link that is the participant's alone.
    package var harmless: KeyValuePairs<String, Any> {
        [
            "participantID": participantID as Any, "identity": identity, "kind": kind, "permission": permission, "status": status,
        ]
    }
}
