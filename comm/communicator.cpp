#include "comm/communicator.h"

#include "base/error.h"
#include "comm/backoff.h"

namespace penstock::comm {

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

}  // namespace penstock::comm
