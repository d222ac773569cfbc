// SPDX-License-Identifier: Apache-2.0

/// What every downstream connection of a listener obeys.
package struct ServerSettings: Sendable {
    package var limits: HeadLimits
    /// From the first octet of a request (or the accept) to the end of its head.
    package var headerTimeout: Delay
    /// Between two reads of content.
    package var bodyIdleTimeout: Delay
    /// Between two requests.
    package var keepAliveTimeout: Delay
    /// Without progress while octets wait to be written.
    package var writeTimeout: Delay
    /// Content that is read and thrown away after an early answer.
    package var drainBytes = 64 << 10
    /// How long such a connection is drained.
    package var drainTime = Delay(.seconds(1))
    /// Octets that may wait for a slow client before its upstream is paused.
    package var highWater = 256 << 10
    /// How long a request may wait for the loop before some are refused so that the others wait no longer.
    package var queueDelay = Delay(.milliseconds(500))
    /// Accepted descriptors from here on are refused: what is left is for upstreams, logs and files.
    package var descriptorCeiling = Int32.max

    package init(
        limits: HeadLimits, headerTimeout: Duration, bodyIdleTimeout: Duration, keepAliveTimeout: Duration,
        writeTimeout: Duration
    ) {
        self.limits = limits
        self.headerTimeout = Delay(headerTimeout)
        self.bodyIdleTimeout = Delay(bodyIdleTimeout)
        self.keepAliveTimeout = Delay(keepAliveTimeout)
        self.writeTimeout = Delay(writeTimeout)
    }
}
