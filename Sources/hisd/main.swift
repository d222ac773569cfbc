// SPDX-License-Identifier: Apache-2.0

import HIDDaemon
import HIDIssuer

DaemonProgram.main(.issuer, Array(CommandLine.arguments.dropFirst()))
