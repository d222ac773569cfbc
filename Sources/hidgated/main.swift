// SPDX-License-Identifier: Apache-2.0

import HIDDaemon
import HIDGateway

DaemonProgram.main(.gateway, Array(CommandLine.arguments.dropFirst()))
