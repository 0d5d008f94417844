#include "runtime/supervisor/metrics_port.h"

#include <gtest/gtest.h>

#include "runtime/store/http_client.h"

namespace penstock::runtime {
namespace {

HttpAnswer ask(const std::string& method, const std::string& url) {
  return HttpClient({.proxy = false}).attempt({.method = method, .url = url});
}

TEST(MetricsPort, ServesTheNewestText) {
  MetricsPort port({.port = 0});
  const std::string url = port.url();
  EXPECT_TRUE(url.starts_with("http://127.0.0.1:")) << url;
  port.publish("penstock_step 1\n");
  port.publish("penstock_step 2\n");
  const HttpAnswer answer = ask("GET", url);
  EXPECT_EQ(answer.body, "penstock_step 2\n");
  EXPECT_EQ(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(ask("DELETE", url).status, 405);
  EXPECT_EQ(ask("GET", url + "/x").body, "the metrics are at /metrics\n");
}

TEST(MetricsPort, IsNotOpenUnlessAskedFor) {
  MetricsPort port({});
  port.publish("penstock_step 1\n");
  EXPECT_EQ(port.url(), "");
}

}  // namespace
}  // namespace penstock::runtime
