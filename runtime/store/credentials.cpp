#include "runtime/store/credentials.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/store/store_error.h"

namespace penstock::runtime {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Returns the values of a profile: lines "key = value" below the line "[profile]".
std::map<std::string, std::string> read_profile(const std::filesystem::path& file,
                                                std::string_view profile) {
  std::map<std::string, std::string> values;
  std::istringstream lines(read_file(file));
  bool within = false;
  for (std::string each; std::getline(lines, each);) {
    const std::string_view line = trimmed(each);
    const std::size_t equals = line.find('=');
    if (line.starts_with('[') && line.ends_with(']'))
      within = trimmed(line.substr(1, line.size() - 2)) == profile;
    else if (within && !line.starts_with('#') && equals != std::string_view::npos)
      values.emplace(trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
  }
  return values;
}

/// Throws StoreError if anyone but the owner has access to the file.
void require_private(const std::filesystem::path& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0 || (status.st_mode & 077) == 0) return;
  throw StoreError(
      StoreError::Kind::denied,
      fmt::format("{} has mode {:o}: others than its owner have access to the keys in it. "
                  "Restrict it with\n  chmod 600 {}",
                  file.string(), status.st_mode & 0777, file.string()));
}

bool is_whole(const Credentials& keys) {
  return !keys.access_key.empty() && !keys.secret_key.empty();
}

bool is_empty(const Credentials& keys) {
  return keys.access_key.empty() && keys.secret_key.empty();
}

/// Returns true if AWS_NO_SIGN_REQUEST asks for requests without a signature. ConfigError if it
/// says neither yes nor no.
bool forbids_signing(const Environment& environment) {
  std::string word = environment("AWS_NO_SIGN_REQUEST");
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  constexpr std::array<std::string_view, 4> kYes = {"yes", "true", "on", "1"};
  constexpr std::array<std::string_view, 5> kNo = {"", "no", "false", "off", "0"};
  if (std::ranges::find(kYes, word) != kYes.end()) return true;
  if (std::ranges::find(kNo, word) != kNo.end()) return false;
  throw ConfigError("AWS_NO_SIGN_REQUEST must be YES, for requests without keys, or NO");
}

std::filesystem::path credentials_file(const Environment& environment) {
  const std::string named = environment("AWS_SHARED_CREDENTIALS_FILE");
  return named.empty() ? std::filesystem::path(environment("HOME")) / ".aws" / "credentials"
                       : std::filesystem::path(named);
}

std::string region_named(const Environment& environment) {
  const std::string region = environment("AWS_REGION");
  return region.empty() ? environment("AWS_DEFAULT_REGION") : region;
}

std::string endpoint_named(const Environment& environment) {
  std::string endpoint = environment("AWS_ENDPOINT_URL_S3");
  if (endpoint.empty()) endpoint = environment("AWS_ENDPOINT_URL");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const bool is_url = endpoint.starts_with("http://") || endpoint.starts_with("https://");
  if (!endpoint.empty() && (!is_url || endpoint.find_first_of("@?#") != std::string::npos))
    throw ConfigError(
        "AWS_ENDPOINT_URL must be the URL of a server, such as https://store.example:9000, "
        "without a user, query or fragment");
  return endpoint;
}

}  // namespace

std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Other tools read public buckets in one of two ways. Some sign nothing if they find no keys (s3fs,
// rclone); others have to be told (the AWS CLI's --no-sign-request, GDAL's AWS_NO_SIGN_REQUEST).
// Both work here. Half of what makes keys is a mistake, which must not pass as no keys.
Credentials find_credentials(const Environment& environment) {
  if (forbids_signing(environment)) return {};
  Credentials set{environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
                  environment("AWS_SESSION_TOKEN")};
  if (is_whole(set)) return set;
  const std::filesystem::path file = credentials_file(environment);
  const std::string named = environment("AWS_PROFILE");
  const std::string profile = named.empty() ? "default" : named;
  Credentials found;
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) {
    require_private(file);
    auto values = read_profile(file, profile);
    found = {values["aws_access_key_id"], values["aws_secret_access_key"],
             values["aws_session_token"]};
  }
  if (is_whole(found)) return found;
  if (named.empty() && is_empty(found) && is_empty(set)) return {};
  throw StoreError(
      StoreError::Kind::denied,
      fmt::format("there are no whole credentials: set both AWS_ACCESS_KEY_ID and "
                  "AWS_SECRET_ACCESS_KEY, or write aws_access_key_id and aws_secret_access_key "
                  "below the line [{}] of {}, with mode 600",
                  profile, file.string()));
}

// A server named by an endpoint is addressed by paths, since its certificate and its name service
// seldom know a host for each bucket. The same holds for a bucket with dots in its name. Google's
// interface has no region, and no condition If-None-Match for uploads.
StoreSettings find_settings(const StoreUrl& url, const Environment& environment) {
  StoreSettings settings{.endpoint = endpoint_named(environment),
                         .region = region_named(environment)};
  const bool google = url.kind == StoreKind::gs;
  if (settings.region.empty()) settings.region = google ? "auto" : "us-east-1";
  settings.path_style =
      google || !settings.endpoint.empty() || url.bucket.find('.') != std::string::npos;
  settings.conditional = !google;
  if (settings.endpoint.empty())
    settings.endpoint = google ? "https://storage.googleapis.com"
                               : fmt::format("https://s3.{}.amazonaws.com", settings.region);
  settings.credentials = find_credentials(environment);
  return settings;
}

}  // namespace penstock::runtime
