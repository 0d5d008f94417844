#include "runtime/supervisor/cloud_notice.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "runtime/store/http_client.h"

namespace penstock::runtime {
namespace {

constexpr std::chrono::seconds kMetadataLimit{2};  // the service is on the machine's own host

std::string metadata_address(const std::string& cloud) {
  const char* aws = std::getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  const char* gcp = std::getenv("GCE_METADATA_HOST");
  if (cloud == "aws" && aws != nullptr) return aws;
  if (cloud == "gcp") return fmt::format("http://{}", gcp ? gcp : "metadata.google.internal");
  return "http://169.254.169.254";
}

/// Sends questions to one metadata service, past any proxy.
class MetadataService {
 public:
  MetadataService(std::string address, std::stop_token stop)
      : address_(std::move(address)),
        client_({.connect = kMetadataLimit,
                 .stall = kMetadataLimit,
                 .stop = std::move(stop),
                 .proxy = false}) {}

  /// Returns the answer's body; "" if there is no such thing (404). Error on any other status.
  std::string ask(const std::string& method, const std::string& path, const std::string& header) {
    const HttpAnswer answer =
        client_.attempt({.method = method, .url = address_ + path, .headers = {header}});
    if (answer.status == 404) return "";
    if (!answer.good())
      throw Error(fmt::format("{}{} answers with status {}", address_, path, answer.status));
    return answer.body;
  }

 private:
  std::string address_;
  HttpClient client_;
};

bool ask_aws(MetadataService& service) {
  const std::string token =
      service.ask("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60");
  if (token.empty()) throw Error("the metadata service gives no token");
  return !service
              .ask("GET", "/latest/meta-data/spot/instance-action",
                   "X-aws-ec2-metadata-token: " + token)
              .empty();
}

bool ask_gcp(MetadataService& service) {
  const std::string preempted =
      service.ask("GET", "/computeMetadata/v1/instance/preempted", "Metadata-Flavor: Google");
  if (!preempted.starts_with("TRUE") && !preempted.starts_with("FALSE"))
    throw Error(fmt::format("instance/preempted is \"{}\", not TRUE or FALSE", preempted));
  return preempted.starts_with("TRUE");
}

// Events of other machines of the same set are listed, too.
bool ask_azure(MetadataService& service) {
  const std::string header = "Metadata: true";
  const std::string machine = service.ask(
      "GET", "/metadata/instance/compute/name?api-version=2021-02-01&format=text", header);
  const std::string text =
      service.ask("GET", "/metadata/scheduledevents?api-version=2020-07-01", header);
  try {
    const nlohmann::json list = nlohmann::json::parse(text);
    for (const auto& event : list.at("Events")) {
      const std::string kind = event.at("EventType");
      for (const std::string name : event.at("Resources"))
        if (name == machine && (kind == "Preempt" || kind == "Terminate")) return true;
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("the list of scheduled events can't be read: {}", error.what()));
  }
  return false;
}

}  // namespace

CloudNotice::CloudNotice(std::string cloud, std::string address)
    : cloud_(std::move(cloud)),
      address_(address.empty() ? metadata_address(cloud_) : std::move(address)) {
  try {
    announced_ = ask();
    asked_ = Clock::now();
  } catch (const Error& error) {
    throw ConfigError(
        fmt::format("--notice-cloud {}: the metadata service at {} can't be asked whether this "
                    "machine will be taken away: {}. Leave the option out on machines that are "
                    "not of this cloud, or name a command of your own by --notice-command.",
                    cloud_, address_, error.what()));
  }
}

CloudNotice::~CloudNotice() { stop_.request_stop(); }

bool CloudNotice::ask() const {
  MetadataService service(address_, stop_.get_token());
  if (cloud_ == "aws") return ask_aws(service);
  return cloud_ == "gcp" ? ask_gcp(service) : ask_azure(service);
}

bool CloudNotice::announced(double every_s) {
  if (announced_) return true;
  if (answer_.valid()) {
    if (answer_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    try {
      announced_ = answer_.get();
    } catch (const Error&) {  // the next answer may be better
    }
  } else if (Clock::now() - asked_ > std::chrono::duration<double>(every_s)) {
    asked_ = Clock::now();
    answer_ = std::async(std::launch::async, [this] { return ask(); });
  }
  return announced_;
}

}  // namespace penstock::runtime
