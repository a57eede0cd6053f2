// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Body of `POST tokens/create` and `tokens/register`.
///
/// Source: *CloudKit Web Services Reference*, "Creating APNs Tokens", "Registering Tokens".
package struct PushTokenRequest: Hashable, Sendable {
    package var apnsEnvironment: CloudEnvironment
    /// The token to register; nil creates one.
    package var apnsToken: String?
    /// Names one browser or process, so that its own changes are not told to it.
    package var clientID: String?

    package init(apnsEnvironment: CloudEnvironment, apnsToken: String? = nil, clientID: String? = nil) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken
        self.clientID = clientID
    }
}

/// Answer of `tokens/create` and `tokens/register`.
package struct PushTokenResponse: Hashable, Sendable {
    package var apnsEnvironment: CloudEnvironment
    package var apnsToken: String
    /// Where to wait for notifications, one for each answer. Its own proof: no other credential is sent there.
    package var webcourierURL: String

    package init(apnsEnvironment: CloudEnvironment, apnsToken: String, webcourierURL: String) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken
        self.webcourierURL = webcourierURL
    }
}

/// Body of `POST /device/1/{container}/{environment}/tokens/webAuth`, with a device token: Tarn's own, behind
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
