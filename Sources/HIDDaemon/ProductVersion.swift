// SPDX-License-Identifier: Apache-2.0

/// The version of the product.
package enum ProductVersion {
    package static let text = "0.1.0"
}
