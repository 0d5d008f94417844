#include "runtime/supervisor/http_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/error.h"
#include "runtime/store/http_client.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

HttpAnswer get(int port, const std::string& path, const std::string& header = "X-None: 1") {
  return HttpClient({.proxy = false})
      .attempt({.url = fmt::format("http://127.0.0.1:{}{}", port, path), .headers = {header}});
}

TEST(HttpServer, PassesRequestsToItsHandler) {
  const HttpServer server("127.0.0.1", 0, [](const HttpCall& call) {
    return HttpReply{
        .status = 203,
        .body = fmt::format("{} {} {}", call.method, call.path, call.header("X-Word"))};
  });
  const HttpAnswer answer = get(server.port(), "/a/b?c=d", "x-word: seven");
  EXPECT_EQ(answer.status, 203);
  EXPECT_EQ(answer.body, "GET /a/b seven");
  EXPECT_EQ(answer.header("content-type"), "text/plain; charset=utf-8");
}

TEST(HttpServer, TakesBodiesAndIgnoresThem) {
  const HttpServer server("127.0.0.1", 0,
                          [](const HttpCall& call) { return HttpReply{.body = call.method}; });
  const std::vector<std::byte> body(300'001);
  EXPECT_EQ(HttpClient({.proxy = false})
                .attempt({.method = "POST",
                          .url = fmt::format("http://127.0.0.1:{}/", server.port()),
                          .body = body})
                .body,
            "POST");
}

TEST(HttpServer, AnExceptionIsStatus500) {
  const HttpServer server("127.0.0.1", 0, [](const HttpCall&) -> HttpReply {
    throw std::runtime_error("the disk is gone");
  });
  const HttpAnswer answer = get(server.port(), "/");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "the disk is gone\n");
}

TEST(HttpServer, SaysWhyItCannotListen) {
  const auto nothing = [](const HttpCall&) { return HttpReply{}; };
  const HttpServer server("127.0.0.1", 0, nothing);
  EXPECT_NE(test::message_of<ConfigError>([&] {
              const HttpServer second("127.0.0.1", server.port(), nothing);
            }).find("can't be listened on: Address already in use"),
            std::string::npos);
  EXPECT_NE(test::message_of<ConfigError>([&] {
              const HttpServer named("localhost", 0, nothing);
            }).find("\"localhost\" is no IPv4 address"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
