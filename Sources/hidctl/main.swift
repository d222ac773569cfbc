// SPDX-License-Identifier: Apache-2.0
import Glibc
import HIDGateway

exit(HidctlProcess.run())
