// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine

/// The subjects of the service, each with the pieces that it uses. A subject is made where it is used: it costs a few references.
extension CloudService {
    package var audit: AuditTrail { AuditTrail(core: core, refusals: refusals, log: auditLog) }
    package var budgets: SenderBudgets { SenderBudgets(core: core, budgets: requestBudgets) }
    package var headRefusals: HeadRefusals { HeadRefusals(core: core, admission: admission, errors: errors) }

    var bodies: RequestBodies { RequestBodies(limits: core.engine.limits, memory: memory) }
    var errors: ErrorResponses { ErrorResponses(profile: core.profile) }
}

extension CloudService: ServiceSubject {}
