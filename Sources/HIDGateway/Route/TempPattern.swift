extension PathPattern {
    init(unchecked text: String) {
        do { self = try PathPattern(parsing: text) } catch { preconditionFailure("temporary") }
    }
}
