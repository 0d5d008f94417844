#include "comm/communicator.h"

#include <thread>

namespace penstock {

void wait(Communicator& communicator, Transfer& transfer) {
  while (!transfer.done()) {
    communicator.progress();
    std::this_thread::yield();
  }
}

}  // namespace penstock
