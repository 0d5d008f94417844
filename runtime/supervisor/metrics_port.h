#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "runtime/supervisor/http_server.h"

namespace penstock::runtime {

/// The port at which Prometheus reads the metrics of a run: GET /metrics.
struct MetricsPortOptions {
  int port = -1;  // -1: none; 0: a free one
  std::string address = "127.0.0.1";
};

/// Serves the newest text that was published.
class MetricsPort {
 public:
  /// ConfigError if the port can't be listened on.
  explicit MetricsPort(const MetricsPortOptions& options);

  void publish(std::string text);
  /// Returns "http://127.0.0.1:9090/metrics"; "" if there is no port.
  std::string url() const;

 private:
  HttpReply answer(const HttpCall& call);

  std::string address_, text_;
  std::mutex mutex_;
  std::unique_ptr<HttpServer> server_;  // last: its thread uses the others
};

}  // namespace penstock::runtime
