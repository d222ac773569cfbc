// SPDX-License-Identifier: Apache-2.0

/// Weighted least connections.
enum Balancer {
    /// What a place may get.
    struct Place {
        /// Exchanges under way there, of all loops.
        var active: Int
        /// 1...256.
        var weight: Int
    }

    /// The place with the least (active + 1) / weight; among equals the first from `start` on.
    ///
    /// `place` is nil for what must get nothing. Nil when that is all.
    static func pick(count: Int, from start: Int, _ place: (Int) -> Place?) -> Int? {
        var best: (index: Int, place: Place)?
        for step in 0..<count {
            let index = (start + step) % count
            guard let candidate = place(index), candidate.weight > 0 else { continue }
            if let best {
                let (mine, theirs) = (candidate.active &+ 1, best.place.active &+ 1)
                guard mine &* best.place.weight < theirs &* candidate.weight else { continue }
            }
            best = (index, candidate)
        }
        return best?.index
    }
}
