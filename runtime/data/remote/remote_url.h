#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// Returns true if the text begins with s3://, gs://, https:// or http://.
[[nodiscard]] bool is_remote_url(std::string_view text);

/// Returns a URL without its query, which may hold a signature.
[[nodiscard]] std::string without_query(std::string_view url);

/// Returns the URL at the end of a path that was joined as "folder/https://…", or "".
[[nodiscard]] std::string_view url_within(std::string_view path);

/// Returns the place of a URL in a mirror of all servers: "s3/bucket/a/b.wav" for
/// s3://bucket/a/b.wav. Relative names therefore mean in the mirror what they mean at the URL. A
/// slash at the end is dropped, and so is a fragment.
///
/// ConfigError if the URL names no server or bucket, has a user or an empty part, or is http:// to
/// another machine, which anyone between could change.
[[nodiscard]] std::filesystem::path mirrored_path(std::string_view url);

/// Returns the URL of a place in the mirror. Bytes that a URL can't have are escaped.
[[nodiscard]] std::string mirrored_url(const std::filesystem::path& place);

/// Returns the text with the mirror's paths as URLs. Queries are left out, since they may sign.
[[nodiscard]] std::string with_urls(std::string text, const std::filesystem::path& mirror);

}  // namespace penstock::runtime
