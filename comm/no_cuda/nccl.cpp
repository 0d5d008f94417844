#include "comm/nccl.h"

#include "base/error.h"

namespace penstock::comm {

bool nccl_is_built() { return false; }

std::unique_ptr<NcclCommunicator> make_nccl(Communicator&, const NcclOptions&) {
  throw DeviceError(
      "this penstock was built without NCCL: install it and build with PENSTOCK_CUDA=ON, or use "
      "device = \"cpu\"");
}

}  // namespace penstock::comm
