#pragma once

#include <signal.h>

#include <array>

namespace penstock::tools {

/// Takes SIGTERM and SIGUSR1, by which batch systems announce the end of a job, for requests to
/// stop: from the first call of asked() on, as long as it lives. Before and behind, they end the
/// process. A process has one at a time.
class [[nodiscard]] StopSignals {
 public:
  StopSignals() = default;
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Whether one has come since the first call.
  bool asked();

 private:
  static constexpr std::array kSignals = {SIGTERM, SIGUSR1};

  bool heeded_ = false;
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace penstock::tools
