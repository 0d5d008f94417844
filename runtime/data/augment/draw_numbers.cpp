#include "runtime/data/augment/draw_numbers.h"

#include <algorithm>
#include <cmath>

namespace penstock::runtime {

double DrawNumbers::next() {
  const std::uint64_t bits = sample_hash(
      kind_, seed_, {static_cast<std::uint64_t>(draw_.epoch), draw_.id, draw_.repeat, count_++});
  return std::ldexp(static_cast<double>(bits >> 11), -53);
}

std::int64_t DrawNumbers::between(std::int64_t first, std::int64_t last) {
  const double share = next();
  return std::min(last,
                  first + static_cast<std::int64_t>(share * static_cast<double>(last - first + 1)));
}

}  // namespace penstock::runtime
