#include "runtime/store/http_client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "runtime/store/store_error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using Clock = std::chrono::steady_clock;

HttpOptions brief(double seconds) {
  HttpOptions options;
  options.retries = {.first = std::chrono::milliseconds(20), .seconds = seconds};
  return options;
}

TEST(HttpClient, SaysWhichHostIsUnreachable) {
  const auto start = Clock::now();
  const std::string message = test::message_of<StoreError>(
      [] { (void)HttpClient(brief(0.3)).send({.url = "http://127.0.0.1:1/path?secret=x"}); });
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2));
  EXPECT_NE(message.find("http://127.0.0.1:1: "), std::string::npos) << message;
  EXPECT_EQ(message.find("secret"), std::string::npos) << message;
}

TEST(HttpClient, StopsWithinAPause) {
  std::stop_source source;
  HttpOptions options = brief(60);
  options.stop = source.get_token();
  options.retries.first = std::chrono::seconds(50);
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    source.request_stop();
  });
  const auto start = Clock::now();
  EXPECT_THROW((void)HttpClient(options).send({.url = "http://127.0.0.1:1/"}), StoreError);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
}

TEST(HttpClient, HostTextEndsBeforeThePath) {
  EXPECT_EQ(host_text("https://host:9/path?x=1"), "https://host:9");
  EXPECT_EQ(host_text("https://host?x=1"), "https://host");
}

}  // namespace
}  // namespace penstock::runtime
