// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension Simulation {
    /// The apps of the devices: with `mirror` one has a mirror, and each other one with a probability of 20 percent.
    func kinds(of count: Int) -> [AppKind] {
        guard features.contains(.mirror) else { return Array(repeating: .container, count: count) }
        let first = Int.random(in: 0..<count, using: &mirrors)
        return (0..<count).map { index in
            let draw = mirrors.percent(20)
            return index == first || draw ? .mirror : .container
        }
    }

    /// Apps delete their persistent history, and save while a mirror imports.
    func planMirrors(_ span: Double) {
        for device in devices {
            for _ in 0..<Int.random(in: 0...2, using: &mirrors) {
                agenda.after(mirrors.seconds(0...span)) { self.deleteHistory(of: device) }
            }
            device.importing.value = { [unowned self, unowned device] in
                guard agenda.now < span, mirrors.percent(15) else { return }
                say("\(device.name) saves during an import")
                attempt { try edit(device) }
            }
        }
    }

    /// Deletes history up to the last successful sync, as the guide of `TarnMirror` permits.
    private func deleteHistory(of device: SimulatedDevice) {
        guard let status = device.life?.app.status, status.isIdle, status.pendingCount == 0 else { return }
        say("\(device.name) deletes its history")
        attempt(on: device) { try device.deleteHistory() }
    }
}
