#pragma once

#include <map>
#include <mutex>
#include <utility>

namespace penstock {

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
