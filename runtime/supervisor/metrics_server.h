#pragma once

#include <functional>
#include <memory>
#include <string>

namespace penstock::runtime {

/// Where a metrics server listens. The default address is reached from this machine alone.
struct MetricsAddress {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any free one
};

/// Serves a text over HTTP at /metrics, for Prometheus to scrape. It reads nothing from requests.
class [[nodiscard]] MetricsServer {
 public:
  /// Listens. `text` is called by a thread of the server for each request. Error if the address
  /// can't be listened on.
  MetricsServer(const MetricsAddress& address, std::function<std::string()> text);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  ~MetricsServer();

  int port() const { return port_; }

 private:
  struct Listener;
  std::unique_ptr<Listener> listener_;
  int port_ = 0;
};

}  // namespace penstock::runtime
