#include "runtime/supervisor/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <netinet/in.h>

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace penstock::runtime {

namespace {

/// A call of libmicrohttpd: once for the header of a request, once for each part of its body, and
/// once at its end.
struct Part {
  MHD_Connection* connection;
  const char *path, *method;
  std::size_t* body_size;
  void** request;  // null in the first call

  std::string header(const char* name) const {
    const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value == nullptr ? "" : value;
  }
};

HttpReply reply_to(const Part& part, const HttpServer::Handler& handler) try {
  return handler({part.method, part.path, [&](const char* name) { return part.header(name); }});
} catch (const std::exception& error) {  // it must not pass through C
  return {.status = 500, .body = fmt::format("{}\n", error.what())};
}

MHD_Result answer(const Part& part, const HttpServer::Handler& handler) {
  static char seen;
  if (std::exchange(*part.request, &seen) == nullptr) return MHD_YES;
  if (std::exchange(*part.body_size, 0) > 0) return MHD_YES;
  HttpReply reply = reply_to(part, handler);
  MHD_Response* response =
      MHD_create_response_from_buffer(reply.body.size(), reply.body.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", reply.type.c_str());
  const MHD_Result queued =
      MHD_queue_response(part.connection, static_cast<unsigned>(reply.status), response);
  MHD_destroy_response(response);
  return queued;
}

}  // namespace

struct HttpServer::Daemon {
  Handler handler;
  MHD_Daemon* daemon = nullptr;
};

HttpServer::HttpServer(const std::string& address, int port, Handler handler)
    : daemon_(new Daemon{std::move(handler)}) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1)
    throw ConfigError(fmt::format(
        "\"{}\" is no IPv4 address to listen on: name one of this machine, such as 127.0.0.1",
        address));
  const MHD_AccessHandlerCallback called = [](void* own, MHD_Connection* connection,
                                              const char* path, const char* method, const char*,
                                              const char*, std::size_t* body_size, void** request) {
    return answer({connection, path, method, body_size, request},
                  static_cast<Daemon*>(own)->handler);
  };
  errno = 0;
  daemon_->daemon =
      MHD_start_daemon(MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, 0, nullptr, nullptr, called,
                       daemon_.get(), MHD_OPTION_SOCK_ADDR, reinterpret_cast<sockaddr*>(&at),
                       MHD_OPTION_CONNECTION_LIMIT, 16U, MHD_OPTION_CONNECTION_TIMEOUT, 10U,
                       MHD_OPTION_CONNECTION_MEMORY_LIMIT, std::size_t{32} << 10, MHD_OPTION_END);
  if (daemon_->daemon == nullptr)
    throw ConfigError(fmt::format(
        "port {} of {} can't be listened on: {}. Choose another one.", port, address,
        errno == 0 ? "libmicrohttpd does not say why" : std::generic_category().message(errno)));
}

HttpServer::~HttpServer() { MHD_stop_daemon(daemon_->daemon); }

int HttpServer::port() const {
  return MHD_get_daemon_info(daemon_->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

}  // namespace penstock::runtime
