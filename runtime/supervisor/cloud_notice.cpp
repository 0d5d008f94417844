#include "runtime/supervisor/cloud_notice.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/error.h"
#include "runtime/store/http_client.h"

namespace penstock::runtime {
namespace {

constexpr std::chrono::seconds kMetadataLimit{2};  // the service is on the machine's own host
// Azure's list of events is switched on by the first question, whose answer may take two minutes.
constexpr std::chrono::seconds kEventsLimit{150};
constexpr const char* kAzure = "Metadata: true";
constexpr int kAttempts = 4;  // to find the service
constexpr std::chrono::milliseconds kPause{300};

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
  MetadataService(std::string address, std::stop_token stop, std::chrono::seconds limit)
      : address_(std::move(address)),
        client_(
            {.connect = kMetadataLimit, .stall = limit, .stop = std::move(stop), .proxy = false}) {}

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

std::string aws_token(MetadataService& service) {
  std::string token =
      service.ask("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60");
  if (token.empty()) throw Error("the metadata service gives no token");
  return token;
}

bool ask_aws(MetadataService& service) {
  return !service
              .ask("GET", "/latest/meta-data/spot/instance-action",
                   "X-aws-ec2-metadata-token: " + aws_token(service))
              .empty();
}

bool ask_gcp(MetadataService& service) {
  const std::string preempted =
      service.ask("GET", "/computeMetadata/v1/instance/preempted", "Metadata-Flavor: Google");
  if (!preempted.starts_with("TRUE") && !preempted.starts_with("FALSE"))
    throw Error(fmt::format("instance/preempted is \"{}\", not TRUE or FALSE", preempted));
  return preempted.starts_with("TRUE");
}

std::string azure_machine(MetadataService& service) {
  std::string name = service.ask(
      "GET", "/metadata/instance/compute/name?api-version=2021-02-01&format=text", kAzure);
  if (name.empty()) throw Error("the metadata service does not name this machine");
  return name;
}

// Events of other machines of the same set are listed, too.
bool ask_azure(MetadataService& service) {
  const std::string machine = azure_machine(service);
  const std::string text =
      service.ask("GET", "/metadata/scheduledevents?api-version=2020-07-01", kAzure);
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
  bool found = false;
  for (int attempt = 1; !found; ++attempt) {
    try {
      look_for_service();
      found = true;
    } catch (const Error& error) {
      if (attempt == kAttempts)
        throw ConfigError(fmt::format(
            "--notice-cloud {}: the metadata service at {} can't be asked whether this machine "
            "will be taken away: {}. Leave the option out on machines that are not of this cloud, "
            "or name a command of your own by --notice-command.",
            cloud_, address_, error.what()));
      std::this_thread::sleep_for(kPause);
    }
  }
}

CloudNotice::~CloudNotice() { stop_.request_stop(); }

void CloudNotice::look_for_service() const {
  MetadataService service(address_, stop_.get_token(), kMetadataLimit);
  if (cloud_ == "aws")
    (void)aws_token(service);
  else if (cloud_ == "gcp")
    (void)ask_gcp(service);
  else
    (void)azure_machine(service);
}

bool CloudNotice::ask() const {
  MetadataService service(address_, stop_.get_token(), kEventsLimit);
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
