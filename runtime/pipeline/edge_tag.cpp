#include "runtime/pipeline/edge_tag.h"

#include <fmt/format.h>

#include "base/error.h"
#include "comm/tags.h"

namespace penstock::runtime {

int edge_tag(int producer, bool gradient) {
  if (producer >= comm::tags::edge_chunks)
    throw CommError(fmt::format("chunk {} has no message tag: a pipeline has at most {} chunks",
                                producer, comm::tags::edge_chunks));
  return comm::tags::edges + 2 * producer + (gradient ? 1 : 0);
}

}  // namespace penstock::runtime
