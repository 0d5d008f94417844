#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace penstock::comm {

/// A communicator whose kernels spin on a device until a peer answers: NCCL's.
class Abortable {
 public:
  virtual ~Abortable() = default;
  /// Ends its kernels, and waits for nothing.
  virtual void revoke() noexcept = 0;
  /// Gives it back, behind revoke(). Waits for the device, and so for other communicators' kernels.
  virtual void abort() noexcept = 0;
};

/// What a rank says and does when it fails.
struct FailureSteps {
  std::function<void(const std::exception&)> say = [](const std::exception&) {};
  std::function<void()> tell = [] {};  // the other ranks; may end the process
};

/// How a rank ends that fails while NCCL's kernels spin on its device. While one does, neither
/// memory of the device nor another communicator can be given back. So the failure is said first;
/// then all communicators are revoked, then other ranks told, whose kernels may spin as well, and
/// then all communicators are aborted at once. For one thread.
class Shutdown {
 public:
  Shutdown() = default;
  Shutdown(const Shutdown&) = delete;
  Shutdown& operator=(const Shutdown&) = delete;
  /// Aborts what was revoked.
  ~Shutdown();

  void add(std::shared_ptr<Abortable> communicator);
  /// Of one that has ended by itself.
  void remove(const Abortable& communicator);
  void on_failure(FailureSteps steps) { steps_ = std::move(steps); }

  /// The rank fails of `error`. Later calls do nothing: one failure leads to others.
  void fail(const std::exception& error);
  /// For destructors that an exception passes: what comes behind them may wait for the device. The
  /// rest is fail()'s.
  void revoke() noexcept;

 private:
  void abort() noexcept;

  FailureSteps steps_;
  bool failed_ = false;
  std::vector<std::shared_ptr<Abortable>> communicators_;
};

/// The result of `work`. What it raises goes to fail() while all that is outside of it still lives.
template <class Work>
auto guarded(Shutdown& shutdown, Work&& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    shutdown.fail(error);
    throw;
  }
}

}  // namespace penstock::comm
