// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct TLSResumptionTests {
    typealias Version = TLSTestClient.Version

    /// A full handshake, and what it takes to resume it.
    private func ticket(
        _ context: TLSServerContext, _ options: TLSTestClient.Options
    ) throws -> (ticket: TLSTestTicket, link: TLSLink) {
        let link = try TLSLink(context, options)
        try #require(link.shake() == .done, "\(String(describing: link.server.fault))")
        #expect(!link.server.isResumed)
        return (try #require(link.client.tickets.last), link)
    }

    /// Another connection with a ticket.
    private func again(
        _ context: TLSServerContext, _ options: TLSTestClient.Options, _ ticket: TLSTestTicket
    ) throws -> TLSLink {
        var options = options
        options.ticket = ticket
        let link = try TLSLink(context, options)
        #expect(link.shake() == .done, "\(String(describing: link.server.fault))")
        #expect(link.server.isResumed == link.client.isResumed)
        link.ask([1, 2, 3])
        #expect(link.received == [1, 2, 3])
        return link
    }

    private func options(_ version: Version, name: String? = "api.example.com") -> TLSTestClient.Options {
        TLSFixture.options { options in
            options.maximum = version
            options.serverName = name
        }
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `a client resumes with its ticket`(version: Version) throws {
        let context = try TLSFixture.context()
        let (ticket, _) = try ticket(context, options(version))
        let link = try again(context, options(version), ticket)
        #expect(link.server.isResumed)
        #expect(link.server.serverName == "api.example.com")
        // In TLS 1.3 each connection brings another ticket, so that no two need to share one.
        if version == .tls13 { #expect(!link.client.tickets.isEmpty) }
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `a resumed session negotiates its protocol anew`(version: Version) throws {
        let context = try TLSFixture.context()
        var first = options(version)
        first.protocols = ["h2"]
        let (ticket, _) = try ticket(context, first)
        first.protocols = ["http/1.1"]
        let link = try again(context, first, ticket)
        #expect(link.server.isResumed && link.server.applicationProtocol == .http1)
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `a reload with the same ticket keys keeps resumption, and other keys end it`(version: Version) throws {
        let tickets = try TLSFixture.tickets()
        let (ticket, _) = try ticket(TLSFixture.context(tickets), options(version))
        let renewed = try TLSFixture.root.get().server(["api.example.com"], serial: 8)
        let reloaded = try TLSFixture.context(tickets) { $0.named[0].identity = renewed.identity }
        #expect(try again(reloaded, options(version), ticket).server.isResumed)
        #expect(try !again(TLSFixture.context(), options(version), ticket).server.isResumed)
    }

    // MARK: - Rotation

    @Test(arguments: [Version.tls12, .tls13])
    func `a ticket outlives two new keys, is renewed, and not a third`(version: Version) throws {
        let clock = SecondsClock(1000)
        let tickets = try TLSTicketKeys(life: 100) { clock.now }
        let context = try TLSFixture.context(tickets)
        let (ticket, _) = try ticket(context, options(version))
        clock.advance(99)
        let fresh = try again(context, options(version), ticket)
        #expect(fresh.server.isResumed)
        if version == .tls12 { #expect(fresh.client.ticket?.octets == ticket.octets) }
        for _ in 0..<2 {
            clock.advance(100)
            let link = try again(context, options(version), ticket)
            #expect(link.server.isResumed)
            let renewed = try #require(version == .tls12 ? link.client.ticket : link.client.tickets.last)
            #expect(renewed.octets != ticket.octets)
        }
        clock.advance(100)
        #expect(try !again(context, options(version), ticket).server.isResumed)
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `a renewed ticket goes on after the first is too old`(version: Version) throws {
        let clock = SecondsClock(1000)
        let context = try TLSFixture.context(TLSTicketKeys(life: 100) { clock.now })
        var (ticket, _) = try ticket(context, options(version))
        for _ in 0..<8 {
            clock.advance(100)
            let link = try again(context, options(version), ticket)
            #expect(link.server.isResumed)
            ticket = try #require(version == .tls12 ? link.client.ticket : link.client.tickets.last)
        }
    }

    @Test func `after a long silence no key of before opens anything`() throws {
        let clock = SecondsClock(0)
        let context = try TLSFixture.context(TLSTicketKeys(life: 100) { clock.now })
        let (ticket, _) = try ticket(context, options(.tls13))
        clock.advance(300)
        #expect(try !again(context, options(.tls13), ticket).server.isResumed)
    }

    @Test func `a clock that jumps back neither ends resumption nor traps`() throws {
        let clock = SecondsClock(1_000_000)
        let context = try TLSFixture.context(TLSTicketKeys(life: 100) { clock.now })
        let (ticket, _) = try ticket(context, options(.tls13))
        clock.advance(-900_000)
        #expect(try again(context, options(.tls13), ticket).server.isResumed)
    }

    // MARK: - Never across

    @Test(arguments: [Version.tls12, .tls13])
    func `a ticket is good for its own name only`(version: Version) throws {
        let context = try TLSFixture.context()
        let names: [String?] = ["api.example.com", "www.example.com", "web.example.com", "main.example", nil]
        for name in names {
            let (ticket, _) = try ticket(context, options(version, name: name))
            for other in names {
                let link = try again(context, options(version, name: other), ticket)
                #expect(link.server.isResumed == (name == other), "\(name ?? "-") \(other ?? "-")")
            }
        }
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `a client's certificate goes with the session, and to no other name`(version: Version) throws {
        let context = try TLSFixture.context { $0.clientAuthorities = try TLSFixture.clientRoot.get().pem }
        var phone = options(version)
        phone.identity = try TLSFixture.phone.get()
        let (ticket, first) = try ticket(context, phone)
        #expect(first.server.peerCertificate?.subject == "CN=phone")
        // The client does not show it again: the ticket holds it.
        let link = try again(context, options(version), ticket)
        #expect(link.server.isResumed)
        #expect(try link.server.peerCertificate?.der == TLSFixture.phone.get().der)
        let elsewhere = try again(context, options(version, name: "main.example"), ticket)
        #expect(!elsewhere.server.isResumed && elsewhere.server.peerCertificate == nil)
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `a session of authorities that are gone is not resumed`(version: Version) throws {
        let tickets = try TLSFixture.tickets()
        let (root, other) = try (TLSFixture.clientRoot.get().pem, TLSFixture.otherClientRoot.get().pem)
        let before = try TLSFixture.context(tickets) { $0.clientAuthorities = root }
        var phone = options(version)
        phone.identity = try TLSFixture.phone.get()
        let (ticket, _) = try ticket(before, phone)
        // As it was: resumed, whatever the order of the bundle.
        let both = try TLSFixture.context(tickets) { $0.clientAuthorities = root + other }
        let reversed = try TLSFixture.context(tickets) { $0.clientAuthorities = other + root }
        #expect(try again(before, options(version), ticket).server.isResumed)
        let (shared, _) = try self.ticket(both, phone)
        #expect(try again(reversed, options(version), shared).server.isResumed)
        for context in [
            both, try TLSFixture.context(tickets) { $0.clientAuthorities = other },
            try TLSFixture.context(tickets),
        ] {
            let link = try again(context, options(version), ticket)
            #expect(!link.server.isResumed && link.server.peerCertificate == nil)
        }
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `a session without a certificate does not pass where one is required`(version: Version) throws {
        let tickets = try TLSFixture.tickets()
        let root = try TLSFixture.clientRoot.get().pem
        let optional = try TLSFixture.context(tickets) { $0.clientAuthorities = root }
        let required = try TLSFixture.context(tickets) {
            $0.clientAuthorities = root
            $0.clientAuthentication = .required
        }
        for context in [optional, try TLSFixture.context(tickets)] {
            let (ticket, _) = try ticket(context, options(version))
            var resuming = options(version)
            resuming.ticket = ticket
            let link = try TLSLink(required, resuming)
            #expect(link.shake() != .done)
            #expect(link.server.fault?.reason == .certificateRequired && link.server.peerCertificate == nil)
        }
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `a client's certificate that has expired since is asked for again`(version: Version) throws {
        let clock = SecondsClock(TLSFixture.now)
        let brief = try TLSFixture.clientRoot.get().client("brief", notAfter: TLSFixture.now + 600)
        var settings = try TLSFixture.settings()
        settings.clientAuthorities = try TLSFixture.clientRoot.get().pem
        let context = try TLSServerContext(settings, tickets: TLSFixture.tickets()) { clock.now }
        var phone = options(version)
        phone.identity = brief
        let (ticket, _) = try ticket(context, phone)
        clock.advance(600)
        #expect(try again(context, options(version), ticket).server.isResumed)
        clock.advance(1)
        let link = try again(context, options(version), ticket)
        #expect(!link.server.isResumed && link.server.peerCertificate == nil)
    }
}
