#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/link_end.h"
#include "layers/backend.h"

namespace penstock::runtime {

/// This rank's end of a link between device memory, over NCCL's edges as a pipeline of these two
/// ranks of `world` has them: one there, one back. Messages go in the device's order, so that the
/// host does not wait between them; what is computed are products. The peer calls this too. `world`
/// and backend must outlive it. CommError as from make_nccl.
[[nodiscard]] std::unique_ptr<comm::LinkEnd> open_nccl_link(comm::Communicator& world,
                                                            layers::Backend& backend, int peer);

}  // namespace penstock::runtime
