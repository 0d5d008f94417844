#include "runtime/huggingface/low_rank_update.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace penstock::runtime {
namespace {

constexpr int kIn = 37;  // longer than a vector, and no multiple of one

/// W of 5 × 37, A of 2 × 37 and B of 5 × 2, and a tensor that no adapter changes.
class Merging : public testing::Test {
 protected:
  Merging() {
    for (const auto& [name, count] : std::map<std::string, int>{
             {"w.weight", 5 * kIn}, {"a", 2 * kIn}, {"b", 10}, {"other", 15}})
      for (int i = 0; i < count; ++i)
        tensors_[name].push_back(static_cast<float>((7 * i + count) % 11) / 8 - 0.5f);
    reads_ = [this](const std::string& source, std::int64_t begin, std::span<float> out) {
      ++read_[source];
      std::copy_n(tensors_.at(source).begin() + begin, out.size(), out.begin());
    };
    merged_ = merging_reader(reads_, reads_, {{"w.weight", {"a", "b", 2, kIn, 1.5}}});
  }

  std::vector<float> read(const std::string& name, std::size_t part) {
    std::vector<float> all(tensors_.at(name).size());
    for (std::size_t begin = 0; begin < all.size(); begin += part)
      merged_(name, static_cast<std::int64_t>(begin),
              std::span(all).subspan(begin, std::min(part, all.size() - begin)));
    return all;
  }

  std::map<std::string, std::vector<float>> tensors_;
  std::map<std::string, int> read_;
  ReadElements reads_, merged_;
};

TEST_F(Merging, AddsTheScaledProductOfTheFactors) {
  const std::vector<float> merged = read("w.weight", 5 * kIn);
  for (std::size_t row = 0; row < 5; ++row)
    for (std::size_t column = 0; column < kIn; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k < 2; ++k)
        sum += double{tensors_["b"][2 * row + k]} * tensors_["a"][kIn * k + column];
      EXPECT_NEAR(merged[kIn * row + column], tensors_["w.weight"][kIn * row + column] + 1.5 * sum,
                  1e-6);
    }
}

TEST_F(Merging, GivesTheSameBitsInAnyParts) {
  const std::vector<float> whole = read("w.weight", 5 * kIn);
  for (const std::size_t part : {1, 2, 7, 8, 36, 37, 41, 100})
    EXPECT_EQ(read("w.weight", part), whole);
}

TEST_F(Merging, ReadsEachFirstFactorOnce) {
  (void)read("w.weight", kIn);
  EXPECT_EQ(read_.at("a"), 1);
}

TEST_F(Merging, LeavesOtherTensorsAlone) { EXPECT_EQ(read("other", 4), tensors_["other"]); }

}  // namespace
}  // namespace penstock::runtime
