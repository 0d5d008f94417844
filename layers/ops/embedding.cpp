#include "layers/ops/embedding.h"

#include <fmt/format.h>

#include "base/error.h"

namespace penstock::layers {

void expect_ids(std::span<const std::int32_t> ids, std::int64_t rows) {
  for (const std::int32_t id : ids)
    if (id < -1 || id >= rows)
      throw ShapeError(fmt::format(
          "an embedding was given id {}; its rows are 0 to {}, and -1 is none", id, rows - 1));
}

}  // namespace penstock::layers
