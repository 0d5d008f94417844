#pragma once

#include <functional>
#include <memory>
#include <string>

namespace penstock::runtime {

/// A request that a server has got.
struct HttpCall {
  std::string method, path;                             // the path without its query
  std::function<std::string(const char*)> header = {};  // a header's value; "" if it is not there
};

struct HttpReply {
  int status = 200;
  std::string body = {};
  std::string type = "text/plain; charset=utf-8";
};

/// Answers HTTP requests in a thread of its own, by GNU libmicrohttpd. Bodies of requests are
/// ignored. At most 16 clients are served at a time, and silent ones are cut off after 10 s.
class HttpServer {
 public:
  /// Called in the server's thread; an exception becomes status 500.
  using Handler = std::function<HttpReply(const HttpCall&)>;

  /// Listens on an IPv4 address of this machine, such as 127.0.0.1. Port 0 takes a free one.
  /// ConfigError if that is not possible.
  HttpServer(const std::string& address, int port, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

 private:
  struct Daemon;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace penstock::runtime
