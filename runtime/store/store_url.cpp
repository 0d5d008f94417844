#include "runtime/store/store_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace penstock::runtime {
namespace {

constexpr std::string_view kS3 = "s3://", kGs = "gs://";

/// A bucket's name becomes a part of a host's name or path, so nothing else may pass.
bool can_name_bucket(std::string_view bucket) {
  return bucket.size() >= 3 && bucket.size() <= 222 &&
         std::ranges::all_of(bucket, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

std::string_view without_slashes(std::string_view key) {
  while (key.starts_with('/')) key.remove_prefix(1);
  while (key.ends_with('/')) key.remove_suffix(1);
  return key;
}

}  // namespace

std::string StoreUrl::text() const {
  return fmt::format("{}{}{}{}", kind == StoreKind::s3 ? kS3 : kGs, bucket, key.empty() ? "" : "/",
                     key);
}

bool is_store_url(std::string_view text) { return text.starts_with(kS3) || text.starts_with(kGs); }

StoreUrl parse_store_url(std::string_view text) {
  const std::string_view rest = text.substr(std::min(kS3.size(), text.size()));
  const std::string_view bucket = rest.substr(0, rest.find('/'));
  if (!is_store_url(text) || !can_name_bucket(bucket))
    throw ConfigError(
        fmt::format("'{}' names no bucket of an object store: write s3://BUCKET/KEY, or "
                    "gs://BUCKET/KEY for Google Cloud Storage",
                    text));
  return {text.starts_with(kS3) ? StoreKind::s3 : StoreKind::gs, std::string(bucket),
          std::string(without_slashes(rest.substr(bucket.size())))};
}

std::string escaped(std::string_view text, bool slashes) {
  std::string out;
  for (const unsigned char c : text) {
    const bool stays = (c < 0x80 && std::isalnum(c) != 0) || c == '-' || c == '.' || c == '_' ||
                       c == '~' || (slashes && c == '/');
    out += stays ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

}  // namespace penstock::runtime
