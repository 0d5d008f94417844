#include "comm/communicator.h"

#include <chrono>
#include <thread>

#include "base/error.h"

namespace penstock::comm {
namespace {

// Polls before the first sleep. They take about 200 µs with MPI in shared memory, in which 1 MB
// arrives; a sleep costs about 70 µs.
constexpr int kEagerPolls = 500;

}  // namespace

void wait(Communicator& communicator, Transfer& transfer) {
  Backoff backoff;
  while (!transfer.done()) {
    try {
      communicator.progress();
    } catch (const Error&) {
      transfer.done();  // also fails, with an error that names the message
      throw;
    }
    backoff.pause();
  }
}

void Backoff::pause() {
  if (++polls_ < kEagerPolls) {
    std::this_thread::yield();
  } else {
    polls_ = kEagerPolls;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace penstock::comm
