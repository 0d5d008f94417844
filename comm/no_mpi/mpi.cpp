#include "base/error.h"
#include "comm/join.h"

namespace penstock::comm {

std::unique_ptr<Communicator> join_mpi(const MpiOptions&) {
  throw CommError(
      "this penstock was built without MPI: build with PENSTOCK_MPI=ON, or start each rank "
      "yourself with PENSTOCK_RANK, PENSTOCK_RANKS and PENSTOCK_MEET set");
}

}  // namespace penstock::comm
