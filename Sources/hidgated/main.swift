// SPDX-License-Identifier: Apache-2.0

import HIDGateway

GatewayProgram.main(Array(CommandLine.arguments.dropFirst()))
