#include "base/bit_reversal.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace penstock {
namespace {

/// Returns the number with its 32 bits in reverse. Numbers below any power of two sort in the same
/// order as with fewer bits, as the others are 0 in all of them.
std::uint32_t reversed(int number) {
  std::uint32_t result = 0;
  for (int bit = 0; bit < 32; ++bit)
    result = result << 1 | (static_cast<std::uint32_t>(number) >> bit & 1);
  return result;
}

}  // namespace

std::vector<int> bit_reversed(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::ranges::sort(numbers, {}, reversed);
  return numbers;
}

std::vector<int> bit_reversed_places(int count) {
  const std::vector<int> numbers = bit_reversed(count);
  std::vector<int> places(numbers.size());
  for (std::size_t place = 0; place < numbers.size(); ++place)
    places[static_cast<std::size_t>(numbers[place])] = static_cast<int>(place);
  return places;
}

}  // namespace penstock
