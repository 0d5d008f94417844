#pragma once

namespace penstock::comm {

/// Paces a thread that polls for messages. It polls eagerly for a while, since most messages come
/// soon, and then sleeps briefly between polls, which frees the core if there are more ranks than
/// cores. Make a new one, or call reset(), for each wait.
class Backoff {
 public:
  /// Call it after a poll that found nothing.
  void pause();
  /// Call it after a poll that found something.
  void reset() { polls_ = 0; }

 private:
  int polls_ = 0;
};

}  // namespace penstock::comm
