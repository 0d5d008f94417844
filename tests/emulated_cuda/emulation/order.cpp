#include "tests/emulated_cuda/emulation/order.h"

#include <algorithm>
#include <numeric>

namespace emulated_cuda {

std::vector<int> Order::arrange(int count) {
  std::vector<int> places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  if (kind_ == Kind::reversed) std::reverse(places.begin(), places.end());
  if (kind_ == Kind::random) std::shuffle(places.begin(), places.end(), random_);
  return places;
}

std::size_t Order::choose(std::size_t count) {
  if (kind_ == Kind::random) return random_() % count;
  return kind_ == Kind::forward ? 0 : count - 1;
}

bool Order::chance(unsigned times) { return kind_ == Kind::random && random_() % times == 0; }

}  // namespace emulated_cuda
