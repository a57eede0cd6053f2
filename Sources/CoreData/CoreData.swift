// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

@_exported public import CloudMirroring
@_exported public import Foundation
@_exported public import ObjectGraph
@_exported public import PredicateKit
