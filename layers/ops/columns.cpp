#include "layers/ops/columns.h"

#include <fmt/format.h>

#include "base/error.h"

namespace penstock::layers {

void expect_columns(const CastColumns& op) {
  const Shape &from = op.from_FA.shape, &to = op.to_FB.shape;
  if (from.size() != 2 || to.size() != 2 || from[0] != to[0])
    throw ShapeError("CastColumns takes two matrices with equally many rows");
  const auto has = [&](const Shape& shape, std::int64_t first) {
    return op.columns >= 0 && first >= 0 && first + op.columns <= shape[1];
  };
  if (!has(from, op.first_from) || !has(to, op.first_to))
    throw ShapeError(fmt::format(
        "CastColumns of {} columns, from {} of {} to {} of {}: the matrices have not so many",
        op.columns, op.first_from, from[1], op.first_to, to[1]));
}

}  // namespace penstock::layers
