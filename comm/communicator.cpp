#include "comm/communicator.h"

#include "comm/backoff.h"

namespace penstock::comm {

void wait(Communicator& communicator, Transfer& transfer) {
  Backoff backoff;
  while (!transfer.done()) {
    communicator.progress();
    backoff.pause();
  }
}

}  // namespace penstock::comm
