#pragma once

#include <chrono>
#include <future>
#include <stop_token>
#include <string>

namespace penstock::runtime {

/// Asks the metadata service of a machine in a cloud whether the cloud will take the machine away.
///
///   cloud   question                                                    time that is left
///   aws     is there a spot/instance-action? (with a token of IMDSv2)   two minutes
///   gcp     is instance/preempted TRUE?                                 30 s
///   azure   does a Preempt or Terminate event name this machine?        at least 30 s
///
/// Sources are the clouds' pages on spot instances and scheduled events. A request runs in a thread
/// of its own, so that nobody waits for it.
class CloudNotice {
 public:
  /// Looks for the service, and waits for it some seconds. ConfigError if it does not answer, or
  /// answers something else: this is then no machine of that cloud. `address` is the service's
  /// "http://host:port"; if empty, AWS_EC2_METADATA_SERVICE_ENDPOINT or GCE_METADATA_HOST, as in
  /// the clouds' own programs, else the cloud's own.
  explicit CloudNotice(std::string cloud, std::string address = "");
  CloudNotice(const CloudNotice&) = delete;
  CloudNotice& operator=(const CloudNotice&) = delete;
  ~CloudNotice();

  /// Returns true once the cloud has announced it. It asks again every `every_s`. A question that
  /// fails counts as no announcement.
  bool announced(double every_s);

 private:
  using Clock = std::chrono::steady_clock;
  bool ask() const;
  void look_for_service() const;

  std::string cloud_, address_;
  bool announced_ = false;
  Clock::time_point asked_ = {};
  std::stop_source stop_;
  std::future<bool> answer_;  // last: its thread uses the others
};

}  // namespace penstock::runtime
