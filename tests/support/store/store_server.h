#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "runtime/store/s3_store.h"
#include "tests/support/store/server_script.h"

namespace penstock::test {

inline std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// An S3 store on this machine: moto's server, or Swift, and the proxy that makes faults; see the
/// script store_server. It ends with the object. Tests skip where it is missing().
class StoreServer {
 public:
  StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;
  ~StoreServer();

  /// Says why there is none, or "".
  const std::string& missing() const { return missing_; }
  std::string endpoint() const;

  /// Returns settings with the server's keys.
  runtime::StoreSettings settings() const;
  /// Returns the bucket "bucket", which is made with the first call. Requests are repeated fast,
  /// for at most `seconds`.
  runtime::S3Store store(double seconds = 20);

  /// Sets the faults of the proxy, by default none. Counts begin at 0.
  void set_faults(const nlohmann::json& plan = nlohmann::json::object()) const;
  /// Lets anyone send the requests, as "GET /bucket/key", that a regular expression matches. Counts
  /// begin at 0.
  void make_public(const std::string& requests) const { set_faults({{"public", requests}}); }
  /// Returns the proxy's counts.
  nlohmann::json counts() const;
  /// Returns the number of faults since set_faults().
  int faults() const;

  /// Sets the variables AWS_… of this process and of those that it starts, and removes them with
  /// the object.
  void set_environment();

 private:
  ServerScript script_;
  std::string missing_;
  std::string key_;
  int port_ = 0;
  bool in_environment_ = false;
};

}  // namespace penstock::test
