#pragma once

#include <unistd.h>

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>

namespace penstock::runtime {

/// A piece of work in a thread that steps back for those that compute, and what comes of it. It is
/// asked to stop, and waited for, where nobody takes that.
template <class Result>
class BackgroundWork {
 public:
  explicit BackgroundWork(std::function<Result(std::stop_token)> work) {
    std::promise<Result> promise;
    result_ = promise.get_future();
    thread_ = std::jthread(
        [work = std::move(work), promise = std::move(promise)](std::stop_token stop) mutable {
          (void)!::nice(10);  // of this thread, on Linux; not lower, as in the loader
          try {
            promise.set_value(work(std::move(stop)));
          } catch (...) {
            promise.set_exception(std::current_exception());
          }
        });
  }
  /// Work that has been done elsewhere.
  explicit BackgroundWork(Result result) {
    std::promise<Result> promise;
    promise.set_value(std::move(result));
    result_ = promise.get_future();
  }

  bool done() const {
    return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// Waits for it, once. Raises what the work raised.
  Result take() { return result_.get(); }

 private:
  std::future<Result> result_;
  std::jthread thread_;
};

}  // namespace penstock::runtime
