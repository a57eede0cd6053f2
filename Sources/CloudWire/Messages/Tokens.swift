// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Body of `POST tokens/create` and `tokens/register`.
///
/// Source: *CloudKit Web Services Reference*, "Creating APNs Tokens", "Registering Tokens".
package struct PushTokenRequest: Hashable, Sendable {
    package var apnsEnvironment: CloudEnvironment
    /// The token to register. `nil` creates one.
    package var apnsToken: String?
    /// Identifies one browser or process, so that it is not notified of its own changes.
    package var clientID: String?

    package init(apnsEnvironment: CloudEnvironment, apnsToken: String? = nil, clientID: String? = nil) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken
        self.clientID = clientID
    }
}

/// Response of `tokens/create` and `tokens/register`.
package struct PushTokenResponse: Hashable, Sendable {
    package var apnsEnvironment: CloudEnvironment
    package var apnsToken: String
    /// The address of the long poll, with one notification per response. It contains its own authorization: no other
    /// credential is sent with it.
    package var webcourierURL: String

    package init(apnsEnvironment: CloudEnvironment, apnsToken: String, webcourierURL: String) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken
        self.webcourierURL = webcourierURL
    }
}

/// Body of `POST /device/1/{container}/{environment}/tokens/webAuth`, with a device token: Tarn's addition, for
/// `CKFetchWebAuthTokenOperation`.
package struct WebAuthTokenRequest: Hashable, Sendable {
    package var apiToken: String

    package init(apiToken: String) {
        self.apiToken = apiToken
    }
}

package struct WebAuthTokenResponse: Hashable, Sendable {
    package var webAuthToken: String

    package init(webAuthToken: String) {
        self.webAuthToken = webAuthToken
    }
}
