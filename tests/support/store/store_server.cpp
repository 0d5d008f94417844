#include "tests/support/store/store_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/support/tree/sources.h"

extern char** environ;

namespace penstock::test {
namespace {

constexpr const char* kSecret = "penstock-secret-of-tests-+/=";

/// Reads the server's output up to the end of a line.
std::string read_line(int descriptor) {
  std::string line;
  for (char c = 0; ::read(descriptor, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

nlohmann::json ask(const std::string& endpoint, runtime::HttpRequest request) {
  request.url = endpoint + request.url;
  const runtime::HttpAnswer answer = runtime::HttpClient().send(request);
  if (!answer.good()) throw std::runtime_error("the proxy does not answer");
  return nlohmann::json::parse(answer.body);
}

}  // namespace

StoreServer::StoreServer() {
  std::array<int, 2> in = {}, out = {};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  const std::string script = source("tests/support/store/store_server").string();
  std::array<char*, 3> words = {const_cast<char*>("python3"), const_cast<char*>(script.c_str()),
                                nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
  const bool runs = posix_spawnp(&child_, words[0], &files, nullptr, words.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  const std::string line = runs ? read_line(out[0]) : "";
  ::close(out[0]);
  std::istringstream words_of(line);
  std::string port;
  if (words_of >> port >> port_ >> key_; port != "port") missing_ = line;
}

StoreServer::~StoreServer() {
  ::close(input_);
  if (child_ > 0) ::waitpid(child_, nullptr, 0);
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
