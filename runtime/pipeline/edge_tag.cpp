#include "runtime/pipeline/edge_tag.h"

#include <fmt/format.h>

#include "base/error.h"
#include "comm/tags.h"

namespace penstock::runtime {

// Chunk c has the tags 2c and 2c + 1, counted from the first tag of edges. Micro-batches share
// them, because messages of one edge keep their order.
int edge_tag(int producer, bool gradient) {
  if (producer >= comm::tags::edge_chunks)
    throw CommError(fmt::format("chunk {} has no message tag: a pipeline has at most {} chunks",
                                producer, comm::tags::edge_chunks));
  return comm::tags::edges + 2 * producer + (gradient ? 1 : 0);
}

}  // namespace penstock::runtime
