#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "runtime/store/store_url.h"

namespace penstock::runtime {

/// Keys that sign requests. They are never printed, logged or written anywhere. Without keys,
/// requests are not signed, and a store answers what it answers to anyone.
struct Credentials {
  std::string access_key = {}, secret_key = {};
  std::string session_token = {};  // of temporary credentials; else empty
  [[nodiscard]] bool none() const { return access_key.empty(); }
};

/// The server of a store and how it is addressed.
struct StoreSettings {
  std::string endpoint;      // "https://s3.eu-west-1.amazonaws.com", without a slash at its end
  std::string region;        // signed with each request
  bool path_style = false;   // ENDPOINT/BUCKET/KEY instead of BUCKET.ENDPOINT/KEY
  bool conditional = false;  // knows If-None-Match for uploads
  Credentials credentials = {};
};

/// Returns the value of an environment variable; "" if it is not set.
using Environment = std::function<std::string(const char*)>;
[[nodiscard]] std::string from_environment(const char* name);

/// Returns the credentials in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
/// Without these, returns those of the profile AWS_PROFILE (default: "default") in the file
/// AWS_SHARED_CREDENTIALS_FILE (default: ~/.aws/credentials). Returns none() if there is neither,
/// or if AWS_NO_SIGN_REQUEST says so. StoreError if one key of two is there, if AWS_PROFILE names a
/// profile that is not, or if others than the file's owner can read it. ConfigError if
/// AWS_NO_SIGN_REQUEST is neither yes nor no.
[[nodiscard]] Credentials find_credentials(const Environment& environment = from_environment);

/// Returns the settings for a URL. AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL names another server
/// than the provider's, AWS_REGION or AWS_DEFAULT_REGION the region. StoreError and ConfigError as
/// from find_credentials(); ConfigError if the endpoint is no URL.
[[nodiscard]] StoreSettings find_settings(const StoreUrl& url,
                                          const Environment& environment = from_environment);

}  // namespace penstock::runtime
