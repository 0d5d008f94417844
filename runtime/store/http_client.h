#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/store/credentials.h"
#include "runtime/store/retry.h"

namespace penstock::runtime {

/// Takes the body of a 2xx answer, piece by piece, with the answer's status.
using ByteSink = std::function<void(int status, std::span<const std::byte>)>;

struct HttpRequest {
  std::string method = "GET";             // GET, HEAD, PUT, POST or DELETE
  std::string url = {};                   // with everything escaped and the query in order
  std::vector<std::string> headers = {};  // "Name: value"
  std::span<const std::byte> body = {};   // of PUT and POST
  std::size_t max_answer = 16 << 20;      // bytes; a longer body is an error
  bool follow = false;                    // follows redirections
  ByteSink sink = {};                     // if empty, the body is collected in HttpAnswer::body
};

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};

  /// Returns a header's value; "" if it is not there.
  [[nodiscard]] std::string header(const std::string& name) const;
  [[nodiscard]] bool good() const { return status >= 200 && status < 300; }
};

struct HttpOptions {
  RetryRules retries = {};
  std::chrono::seconds connect = std::chrono::seconds(10);  // limit of making a connection
  std::chrono::seconds stall = std::chrono::seconds(60);    // limit without a single byte
  std::stop_token stop = {};                                // ends requests and pauses
  bool proxy = true;  // takes the proxy that the environment names, if it names one
};

/// There was no whole answer: no connection, a cut one, or a silent one.
class TransportError : public Error {
 public:
  TransportError(const std::string& message, bool may_pass) : Error(message), may_pass_(may_pass) {}
  /// Returns true if another attempt may succeed.
  bool may_pass() const { return may_pass_; }

 private:
  bool may_pass_;
};

/// Sends HTTP requests over connections that it keeps. One thread uses it at a time. Memory is
/// bounded by max_answer.
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options = {});
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;

  /// Signs later requests with these credentials, by AWS signature version 4 for S3.
  void sign_with(const Credentials& credentials, const std::string& region);

  /// Sends a request once. TransportError, and whatever the sink throws. StoreError if the caller
  /// has asked to stop.
  [[nodiscard]] HttpAnswer attempt(const HttpRequest& request);

  /// Sends a request, which must have no sink, until an answer comes that is not worth_repeating()
  /// or the rules' time is over. Then returns the last answer, or throws StoreError that says why
  /// there is none.
  [[nodiscard]] HttpAnswer send(const HttpRequest& request);

  /// Waits before another attempt. Returns false if the time of `backoff` is over. StoreError if
  /// the caller has asked to stop.
  [[nodiscard]] bool pause(Backoff& backoff, const HttpAnswer& answer = {}) const;

  const HttpOptions& options() const { return options_; }

 private:
  struct Handle;
  HttpOptions options_;
  std::unique_ptr<Handle> handle_;
};

/// Returns true for a server on this machine: its messages pass no network.
[[nodiscard]] bool is_on_this_machine(const std::string& url);

/// Returns the scheme and host of a URL, for messages: a query may hold a signature.
[[nodiscard]] std::string host_text(const std::string& url);

}  // namespace penstock::runtime
