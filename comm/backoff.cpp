#include "comm/backoff.h"

#include <chrono>
#include <thread>

namespace penstock::comm {
namespace {

// Polls before the first sleep. They take about 200 µs with MPI in shared memory, in which 1 MB
// arrives; a sleep costs about 70 µs.
constexpr int kEagerPolls = 500;

}  // namespace

void Backoff::pause() {
  if (++polls_ < kEagerPolls) {
    std::this_thread::yield();
  } else {
    polls_ = kEagerPolls;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace penstock::comm
