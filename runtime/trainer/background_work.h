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

/// A piece of work that runs in a thread of low priority, so that it yields to threads that
/// compute, and its result. If the object is destroyed early, the work is asked to stop and waited
/// for.
template <class Result>
class BackgroundWork {
 public:
  explicit BackgroundWork(std::function<Result(std::stop_token)> work) {
    std::promise<Result> promise;
    result_ = promise.get_future();
    thread_ = std::jthread(
        [work = std::move(work), promise = std::move(promise)](std::stop_token stop) mutable {
          (void)!::nice(10);  // this thread's on Linux; as low as the loader's, not lower
          try {
            promise.set_value(work(std::move(stop)));
          } catch (...) {
            promise.set_exception(std::current_exception());
          }
        });
  }
  /// Wraps the result of work that has been done elsewhere.
  explicit BackgroundWork(Result result) {
    std::promise<Result> promise;
    promise.set_value(std::move(result));
    result_ = promise.get_future();
  }

  bool done() const {
    return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// Waits for the result. May be called once. Throws the work's exception, if it threw one.
  Result take() { return result_.get(); }

 private:
  std::future<Result> result_;
  std::jthread thread_;
};

}  // namespace penstock::runtime
