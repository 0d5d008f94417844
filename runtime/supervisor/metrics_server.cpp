#include "runtime/supervisor/metrics_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <thread>
#include <utility>

#include "base/error.h"

namespace penstock::runtime {

struct MetricsServer::Listener {
  httplib::Server server;
  std::thread thread;
};

// One thread answers: a scrape every few seconds needs no more, and many connections can't take
// threads from the ranks.
MetricsServer::MetricsServer(const MetricsAddress& address, std::function<std::string()> text)
    : listener_(std::make_unique<Listener>()) {
  httplib::Server& server = listener_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(1); };
  // httplib's default lets two servers share a port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_payload_max_length(1024);
  server.set_read_timeout(2);
  server.Get("/metrics",
             [text = std::move(text)](const httplib::Request&, httplib::Response& answer) {
               answer.set_content(text(), "text/plain; version=0.0.4");
             });
  port_ = address.port;
  if (port_ == 0)
    port_ = server.bind_to_any_port(address.host);
  else if (!server.bind_to_port(address.host, port_))
    port_ = -1;
  if (port_ < 0)
    throw Error(
        fmt::format("metrics can't be served at {}:{}: the address is in use or not this "
                    "machine's; choose another --metrics-port or --metrics-host",
                    address.host, address.port));
  listener_->thread = std::thread([&server] { server.listen_after_bind(); });
}

MetricsServer::~MetricsServer() {
  // A server that is stopped before it listens would never end.
  while (!listener_->server.is_running()) std::this_thread::yield();
  listener_->server.stop();
  listener_->thread.join();
}

}  // namespace penstock::runtime
