#pragma once

#include <map>
#include <mutex>
#include <utility>

namespace penstock {

/// Answers that are worked out when they are first asked for, by any thread. They stay where they
/// are as long as this lives.
template <class Key, class Value>
class Known {
 public:
  /// `make()` must give the same whenever it is called for that key: two threads that ask at once
  /// may both call it.
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
