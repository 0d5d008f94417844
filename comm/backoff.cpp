#include "comm/backoff.h"

#include <chrono>
#include <thread>

namespace penstock {
namespace {

constexpr int kEagerPolls = 50;  // some ten microseconds with MPI

}  // namespace

void Backoff::pause() {
  if (++polls_ < kEagerPolls) {
    std::this_thread::yield();
  } else {
    polls_ = kEagerPolls;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace penstock
