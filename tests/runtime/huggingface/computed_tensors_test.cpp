#include "runtime/huggingface/computed_tensors.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace penstock::runtime {
namespace {

/// Element i of any source is i.
void read_places(const std::string&, std::int64_t begin, std::span<float> out) {
  std::iota(out.begin(), out.end(), static_cast<float>(begin));
}

TEST(ComputedTensors, AreComputedOnceForAllTheirParts) {
  int computed = 0;
  const ReadElements read = computing_reader(read_places, {{"a", [&] {
                                                              ++computed;
                                                              return std::vector<float>{5, 7, 9};
                                                            }}});
  std::array<float, 2> part = {};
  read("a", 0, part);
  EXPECT_EQ(part, (std::array<float, 2>{5, 7}));
  read("a", 1, part);
  EXPECT_EQ(part, (std::array<float, 2>{7, 9}));
  EXPECT_EQ(computed, 1);
}

TEST(ComputedTensors, LeaveOthersToTheReader) {
  const ReadElements read =
      computing_reader(read_places, {{"a", [] { return std::vector<float>{5}; }}});
  std::array<float, 2> part = {};
  read("b", 3, part);
  EXPECT_EQ(part, (std::array<float, 2>{3, 4}));
}

}  // namespace
}  // namespace penstock::runtime
