#include "runtime/supervisor/stop_requests.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace penstock::runtime {
namespace {

sigset_t asking_signals() noexcept {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

std::string describe(StopReason reason) {
  switch (reason) {
    case StopReason::none:
      return "nothing";
    case StopReason::signal:
      return "a signal";
    case StopReason::notice:
      return "a notice of preemption";
    case StopReason::time:
      return "the end of --max-seconds";
  }
  return "";
}

void block_supervisor_signals() noexcept {
  sigset_t signals = asking_signals();
  sigaddset(&signals, SIGPIPE);  // whoever reads the output may end first
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

StopRequests::StopRequests(NoticeOptions options) : options_(std::move(options)) {
  block_supervisor_signals();
  if (!options_.cloud.empty()) cloud_ = std::make_unique<CloudNotice>(options_.cloud);
  const sigset_t signals = asking_signals();
  signals_ = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals_ < 0)
    throw Error(fmt::format("signals can't be read: {}", std::generic_category().message(errno)));
}

StopRequests::~StopRequests() { ::close(signals_); }

double StopRequests::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void StopRequests::read_signals() {
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    reason_ = StopReason::signal;
    if (info.ssi_signo == SIGINT) ++interrupts_;
  }
}

// The command runs beside the supervisor's other work. One that succeeds is a notice.
bool StopRequests::noticed() {
  std::error_code ignored;
  if (!options_.file.empty() && std::filesystem::exists(options_.file, ignored)) return true;
  if (cloud_ != nullptr && cloud_->announced(options_.every_s)) return true;
  if (options_.command.empty()) return false;
  const double since = std::chrono::duration<double>(Clock::now() - asked_).count();
  if (asking_ != nullptr) {
    const std::optional<int> code = asking_->exit_code();
    if (code == 0) return true;
    if (code || since > options_.every_s) asking_.reset();
  } else if (since > options_.every_s) {
    asked_ = Clock::now();
    asking_ = std::make_unique<ChildProcess>(Command{{"sh", "-c", options_.command}});
  }
  return false;
}

StopReason StopRequests::reason(double reserve_s) {
  read_signals();
  if (reason_ != StopReason::none) return reason_;
  if (noticed()) reason_ = StopReason::notice;
  if (options_.max_seconds > 0 && seconds() + reserve_s >= options_.max_seconds)
    reason_ = StopReason::time;
  return reason_;
}

bool StopRequests::wait(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    if (reason(0) != StopReason::none) return true;
    pollfd polled{signals_, POLLIN, 0};
    ::poll(&polled, 1, 50);
  }
  return reason(0) != StopReason::none;
}

}  // namespace penstock::runtime
