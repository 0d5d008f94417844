#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace penstock {
namespace {

std::size_t threads_of(int asked) {
  return asked > 0 ? static_cast<std::size_t>(asked)
                   : std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

// Threads take the next item from one counter, so long items do not hold up the others. A failure
// moves the counter to the end, which lets the other threads finish their present items only. The
// calling thread works too; leaving the block waits for the rest.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failing;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t wanted = std::min(count, threads_of(threads));
    for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace penstock
