#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace penstock {

// These helpers share work among threads: a parallel loop, and a cache that threads fill together.

/// Calls body(i) for every i below `count`, in no order, on up to `threads` threads (0: one per
/// core). The first exception is raised again after all threads have ended; later items may then be
/// skipped.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

/// A cache of values that are computed when first asked for, from any thread. References stay valid
/// for the life of the cache.
template <class Key, class Value>
class Cache {
 public:
  /// Returns the value of `key`, from `make()` if it is new. `make()` must give the same value
  /// whenever it is called for that key: two threads that ask at once may both call it.
  template <class Make>
  const Value& of(const Key& key, Make make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = known_.find(key); at != known_.end()) return at->second;
    }
    Value made = make();
    const std::lock_guard lock(mutex_);
    return known_.try_emplace(key, std::move(made)).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Key, Value> known_;
};

}  // namespace penstock
