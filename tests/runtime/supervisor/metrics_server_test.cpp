#include "runtime/supervisor/metrics_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

namespace penstock::runtime {
namespace {

/// Returns what the server answers to a request for `path`, "" if nobody listens at the address.
std::string answer(const char* host, int port, const std::string& path) {
  const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, host, &address.sin_addr);
  std::string text;
  if (::connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    EXPECT_GT(::write(connection, request.data(), request.size()), 0);
    char buffer[4096];
    for (ssize_t count = 0; (count = ::read(connection, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(connection);
  return text;
}

TEST(MetricsServer, AnswersEachRequestAnew) {
  int requests = 0;
  const MetricsServer server({}, [&] { return "requests " + std::to_string(++requests) + "\n"; });
  for (int i = 1; i <= 3; ++i) {
    const std::string text = answer("127.0.0.1", server.port(), "/metrics");
    EXPECT_NE(text.find("200 OK"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("requests " + std::to_string(i) + "\n")) << text;
  }
  EXPECT_NE(answer("127.0.0.1", server.port(), "/etc/passwd").find("404"), std::string::npos);
}

TEST(MetricsServer, ListensOnTheLoopbackAlone) {
  const MetricsServer server({}, [] { return ""; });
  EXPECT_EQ(answer("127.0.0.2", server.port(), "/metrics"), "");
}

TEST(MetricsServer, RefusesAPortInUse) {
  const MetricsServer server({}, [] { return ""; });
  EXPECT_THROW(MetricsServer({.port = server.port()}, [] { return ""; }), Error);
}

TEST(MetricsServer, EndsAtOnce) {
  for (int i = 0; i < 20; ++i) const MetricsServer server({}, [] { return ""; });
}

}  // namespace
}  // namespace penstock::runtime
