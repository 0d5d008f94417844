#include "runtime/supervisor/cloud_notice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/error.h"
#include "runtime/supervisor/http_server.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// A metadata service as the clouds describe theirs. Each question needs its cloud's header.
class FakeCloud {
 public:
  std::atomic<bool> takes_away = false, fails = false;
  std::string azure_event = "Preempt", azure_machine = "trainer-1";

  std::string address() const { return fmt::format("http://127.0.0.1:{}", server_.port()); }

 private:
  HttpReply answer(const HttpCall& call) const {
    if (fails) return {.status = 503};
    const std::string& path = call.path;
    if (path == "/latest/api/token")
      return call.method == "PUT" && call.header("X-aws-ec2-metadata-token-ttl-seconds") == "60"
                 ? HttpReply{.body = "the-token"}
                 : HttpReply{.status = 400};
    if (path == "/latest/meta-data/spot/instance-action") {
      if (call.header("X-aws-ec2-metadata-token") != "the-token") return {.status = 401};
      return takes_away ? HttpReply{.body = R"({"action": "terminate", "time": "…"})"}
                        : HttpReply{.status = 404};
    }
    if (path == "/computeMetadata/v1/instance/preempted")
      return call.header("Metadata-Flavor") == "Google"
                 ? HttpReply{.body = takes_away ? "TRUE\n" : "FALSE\n"}
                 : HttpReply{.status = 403};
    if (call.header("Metadata") != "true") return {.status = 400};
    if (path == "/metadata/instance/compute/name") return {.body = "trainer-1"};
    if (path != "/metadata/scheduledevents") return {.status = 404};
    if (!takes_away) return {.body = R"({"DocumentIncarnation": 1, "Events": []})"};
    return {.body =
                fmt::format(R"({{"Events": [{{"EventType": "Freeze", "Resources": ["trainer-1"]}},
                                  {{"EventType": "{}", "Resources": ["x", "{}"]}}]}})",
                            azure_event, azure_machine)};
  }

  HttpServer server_{"127.0.0.1", 0, [this](const HttpCall& call) { return answer(call); }};
};

/// Returns true if it is announced within `seconds`.
bool announced_within(CloudNotice& notice, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (notice.announced(0.02)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

class CloudNotices : public ::testing::TestWithParam<const char*> {};

TEST_P(CloudNotices, AreHeardOnce) {
  FakeCloud cloud;
  CloudNotice notice(GetParam(), cloud.address());
  EXPECT_FALSE(announced_within(notice, 0.2));
  cloud.fails = true;  // a question that fails is none
  EXPECT_FALSE(announced_within(notice, 0.2));
  cloud.fails = false;
  cloud.takes_away = true;
  EXPECT_TRUE(announced_within(notice, 5));
  cloud.takes_away = false;
  EXPECT_TRUE(notice.announced(0.02));
}

TEST_P(CloudNotices, NeedTheCloudsService) {
  FakeCloud cloud;
  cloud.fails = true;
  const std::string told =
      test::message_of<ConfigError>([&] { const CloudNotice n(GetParam(), cloud.address()); });
  EXPECT_NE(told.find("status 503"), std::string::npos) << told;
  EXPECT_NE(told.find(fmt::format("--notice-cloud {}", GetParam())), std::string::npos) << told;
  EXPECT_THROW(const CloudNotice n(GetParam(), "http://127.0.0.1:1"), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Clouds, CloudNotices, ::testing::Values("aws", "gcp", "azure"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CloudNoticeOfAzure, ConcernsThisMachineAndItsEnd) {
  FakeCloud cloud;
  CloudNotice notice("azure", cloud.address());
  cloud.azure_machine = "trainer-2";
  cloud.takes_away = true;
  EXPECT_FALSE(announced_within(notice, 0.2));
  FakeCloud rebooting;
  rebooting.azure_event = "Reboot";
  rebooting.takes_away = true;
  CloudNotice reboot("azure", rebooting.address());
  EXPECT_FALSE(announced_within(reboot, 0.2));
}

}  // namespace
}  // namespace penstock::runtime
