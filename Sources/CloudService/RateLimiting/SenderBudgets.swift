// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The budgets of senders, as requests of all kinds take from them.
package struct SenderBudgets: ServiceSubject {
    let core: ServiceCore
    let budgets: RequestBudgets

    /// Whether other processes may serve the same storage.
    package var hasOtherProcesses: Bool { storage is any BudgetExchange }

    /// Exchanges request counts with the other processes. Called once a second; between two calls each process counts its own requests only.
    package func exchange() async throws {
        guard let others = storage as? any BudgetExchange else { return }
        let counts = budgets.removeCounts()
        guard !counts.isEmpty else { return }
        budgets.takeElsewhere(try await others.exchangeRequests(counts, now: surroundings.now()), now: surroundings.now())
    }

    /// Takes a request out of its sender's budget.
    ///
    /// - Throws: `WireError` with `.throttled` if none is left.
    @discardableResult
    func take(of sender: RequestBudgets.Sender) throws(WireError) -> RequestBudget? {
        let budget = budgets.take(of: sender, now: surroundings.now())
        if let wait = budget?.wait { throw WireError(.throttled, "too many requests", retryAfter: wait) }
        return budget
    }

    /// Takes a request of the console's API or pages out of the account's budget, which they share with all other endpoints.
    ///
    /// - Throws: `WireError` with `.throttled` if none is left.
    package func take(ofAccount account: Int64) throws(WireError) {
        try take(of: .account("\(WorkTerms.accountPrefix)\(account)"))
    }

    /// Takes a request for a page out of the budget that the anonymous browsers of a network share. Operations have another one, so that
    /// an anonymous app doesn't keep an operator from signing in.
    ///
    /// - Throws: `WireError` with `.throttled` if none is left.
    package func take(ofPagesFrom network: String) throws(WireError) {
        try take(of: .network("\(network) pages"))
    }
}
