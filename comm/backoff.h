#pragma once

namespace penstock::comm {

/// How a thread waits for messages: it polls eagerly for a while, since most come soon, then sleeps
/// shortly between polls, so that other ranks get the core where there are more ranks than cores.
/// Make a new one, or call reset(), for each wait.
class Backoff {
 public:
  /// Call after a poll that found nothing.
  void pause();
  /// Call after a poll that found something.
  void reset() { polls_ = 0; }

 private:
  int polls_ = 0;
};

}  // namespace penstock::comm
