#pragma once

#include <memory>

#include "comm/communicator.h"
#include "layers/backend.h"
#include "runtime/profiling/links/link_end.h"

namespace penstock::runtime {

/// Opens this rank's end of a link between device memories, over NCCL edges as a pipeline of these
/// two ranks of `world` has them, one per direction. Messages go in the device's order, so the host
/// does not wait between them. The link's computation is matrix products. The peer must call this
/// too. `world` and `backend` must outlive the result. Throws CommError like make_nccl().
[[nodiscard]] std::unique_ptr<LinkEnd> open_nccl_link(comm::Communicator& world,
                                                      layers::Backend& backend, int peer);

}  // namespace penstock::runtime
