#include "runtime/supervisor/metrics_port.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/devices/rank_info.h"

namespace penstock::runtime {

MetricsPort::MetricsPort(const MetricsPortOptions& options) : address_(options.address) {
  if (options.port < 0) return;
  server_ = std::make_unique<HttpServer>(options.address, options.port,
                                         [this](const HttpCall& call) { return answer(call); });
}

void MetricsPort::publish(std::string text) {
  const std::scoped_lock lock(mutex_);
  text_ = std::move(text);
}

std::string MetricsPort::url() const {
  if (server_ == nullptr) return "";
  const std::string host = address_ == "0.0.0.0" ? machine_name() : address_;
  return fmt::format("http://{}:{}/metrics", host, server_->port());
}

HttpReply MetricsPort::answer(const HttpCall& call) {
  if (call.method != "GET" && call.method != "HEAD")
    return {.status = 405, .body = "only GET and HEAD are answered\n"};
  if (call.path != "/metrics") return {.status = 404, .body = "the metrics are at /metrics\n"};
  const std::scoped_lock lock(mutex_);
  return {.body = text_, .type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace penstock::runtime
