#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace penstock::comm {

/// A communicator whose kernels spin on a device until a peer answers, as NCCL's do.
class Abortable {
 public:
  virtual ~Abortable() = default;
  /// Ends its kernels and does not wait.
  virtual void revoke() noexcept = 0;
  /// Frees it, after revoke(). Waits for the device, and so for other communicators' kernels.
  virtual void abort() noexcept = 0;
};

/// Steps of a rank that fails: `say` logs the error, `tell` informs the other ranks.
struct FailureSteps {
  std::function<void(const std::exception&)> say = [](const std::exception&) {};
  std::function<void()> tell = [] {};  // may end the process
};

/// Ends a rank that fails while NCCL's kernels spin on its device. While one spins, neither device
/// memory nor another communicator can be freed. So the failure is logged first. Then all
/// communicators are revoked, the other ranks are informed, whose kernels may spin as well, and all
/// communicators are aborted at the same time. Used by one thread.
class Shutdown {
 public:
  Shutdown() = default;
  Shutdown(const Shutdown&) = delete;
  Shutdown& operator=(const Shutdown&) = delete;
  /// Aborts the communicators that are left.
  ~Shutdown();

  void add(std::shared_ptr<Abortable> communicator);
  /// Forgets a communicator that has ended by itself.
  void remove(const Abortable& communicator);
  void on_failure(FailureSteps steps) { steps_ = std::move(steps); }

  /// Takes the steps above for `error`. Later calls do nothing, since one failure leads to others.
  void fail(const std::exception& error);
  /// Revokes all communicators, for a destructor that runs during an exception: later destructors
  /// may wait for the device. fail() takes the other steps.
  void revoke() noexcept;

 private:
  void abort() noexcept;

  FailureSteps steps_;
  bool failed_ = false;
  std::vector<std::shared_ptr<Abortable>> communicators_;
};

/// Returns the result of `work`. An exception of it goes to fail() while all objects outside of
/// `work` still live.
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
