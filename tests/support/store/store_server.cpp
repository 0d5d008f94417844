#include "tests/support/store/store_server.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace penstock::test {
namespace {

constexpr const char* kSecret = "penstock-secret-of-tests-+/=";

nlohmann::json ask(const std::string& endpoint, runtime::HttpRequest request) {
  request.url = endpoint + request.url;
  const runtime::HttpAnswer answer = runtime::HttpClient().send(request);
  if (!answer.good()) throw std::runtime_error("the proxy does not answer");
  return nlohmann::json::parse(answer.body);
}

}  // namespace

StoreServer::StoreServer() : script_("tests/support/store/store_server") {
  std::istringstream words(script_.line());
  std::string port;
  if (words >> port >> port_ >> key_; port != "port") missing_ = script_.line();
}

StoreServer::~StoreServer() {
  for (const char* name : {"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"})
    if (in_environment_) ::unsetenv(name);
}

std::string StoreServer::endpoint() const { return fmt::format("http://127.0.0.1:{}", port_); }

runtime::StoreSettings StoreServer::settings() const {
  return {.endpoint = endpoint(),
          .region = "us-east-1",
          .path_style = true,
          .conditional = true,
          .credentials = {key_, kSecret}};
}

runtime::S3Store StoreServer::store(double seconds) {
  runtime::HttpOptions options;
  options.retries = {.first = std::chrono::milliseconds(5),
                     .longest = std::chrono::milliseconds(50),
                     .seconds = seconds};
  runtime::HttpClient client(options);
  client.sign_with(settings().credentials, settings().region);
  (void)client.send({.method = "PUT", .url = endpoint() + "/bucket"});
  return {{runtime::StoreKind::s3, "bucket"}, settings(), options};
}

void StoreServer::set_faults(const nlohmann::json& plan) const {
  const std::string text = plan.dump();
  (void)ask(endpoint(),
            {.method = "PUT", .url = "/-/faults", .body = std::as_bytes(std::span(text))});
}

nlohmann::json StoreServer::counts() const { return ask(endpoint(), {.url = "/-/counts"}); }

int StoreServer::faults() const {
  const nlohmann::json all = counts();
  int sum = 0;
  for (const auto& [name, count] : all["faults"].items()) sum += count.get<int>();
  return sum;
}

void StoreServer::set_environment() {
  in_environment_ = true;
  ::setenv("AWS_ENDPOINT_URL", endpoint().c_str(), 1);
  ::setenv("AWS_ACCESS_KEY_ID", key_.c_str(), 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", kSecret, 1);
}

}  // namespace penstock::test
