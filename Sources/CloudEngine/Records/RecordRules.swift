// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Rules and keys of a server that changes of records depend on.
struct RecordRules: Sendable {
    let limits: Limits
    let sealer: Sealer
    /// Environments in which record types and fields come into being by use.
    let schemaByUse: Set<CloudEnvironment>

    var quotas: Quotas { Quotas(limits: limits) }
    var tokens: FeedTokens { FeedTokens(sealer: sealer) }
}
