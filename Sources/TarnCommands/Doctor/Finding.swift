// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The result of one check of `tarn doctor`.
struct Finding: Equatable {
    enum Grade: String {
        case ok, warning, problem
    }

    /// The checked thing, in two or three words.
    var check: String
    var grade: Grade
    /// The state that was found.
    var state: String
    /// The next step; empty for a sound state.
    var advice = ""

    static func ok(_ check: String, _ state: String) -> Finding { Finding(check: check, grade: .ok, state: state) }

    static func warning(_ check: String, _ state: String, _ advice: String) -> Finding {
        Finding(check: check, grade: .warning, state: state, advice: advice)
    }

    static func problem(_ check: String, _ state: String, _ advice: String) -> Finding {
        Finding(check: check, grade: .problem, state: state, advice: advice)
    }

    func text(_ style: TextStyle, width: Int) -> String {
        let word =
            switch grade {
            case .ok: style.good("ok     ")
            case .warning: style.warning("warning")
            case .problem: style.bad("problem")
            }
        let name = check + String(repeating: " ", count: max(0, width - check.count))
        let step = advice.isEmpty ? "" : "\n" + String(repeating: " ", count: 9) + "-> " + TerminalText.escaped(advice)
        return "\(word)  \(name)  \(TerminalText.escaped(state))\(step)"
    }

    var json: String {
        let members = [("check", check), ("grade", grade.rawValue), ("state", state), ("advice", advice)]
        return "{" + members.map { "\(JSONText.string($0.0)):\(JSONText.string($0.1))" }.joined(separator: ",") + "}"
    }
}
