#pragma once

#include <string>
#include <string_view>

namespace penstock::runtime {

/// The provider of a store. Google Cloud Storage speaks the protocol of S3, with HMAC keys.
enum class StoreKind { s3, gs };

/// A place in an object store: "s3://bucket/key" or "gs://bucket/key".
struct StoreUrl {
  StoreKind kind = StoreKind::s3;
  std::string bucket;
  std::string key = {};  // without slashes at its ends; "" is the whole bucket

  /// Returns the URL as text, for messages.
  [[nodiscard]] std::string text() const;
};

/// Returns true if the text begins with s3:// or gs://.
[[nodiscard]] bool is_store_url(std::string_view text);

/// Parses a URL of a store. ConfigError if it names no bucket or if a bucket can't have that name.
[[nodiscard]] StoreUrl parse_store_url(std::string_view text);

/// Returns the text with every byte escaped as %XX that RFC 3986 does not leave unreserved. With
/// `slashes`, a slash stays. This is the form in which S3 signs paths and queries.
[[nodiscard]] std::string escaped(std::string_view text, bool slashes = false);

}  // namespace penstock::runtime
