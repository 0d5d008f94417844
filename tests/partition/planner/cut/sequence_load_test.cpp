#include "partition/planner/cut/sequence_load.h"

#include <gtest/gtest.h>

#include <random>

namespace penstock::partition {
namespace {

SequenceProfile sampled(std::mt19937& random, int layers) {
  SequenceProfile profile;
  for (int i = 0; i < layers; ++i) {
    const auto number = [&] { return static_cast<double>(random() % 100); };
    profile.layers.push_back({"", number(), number(), number(), number(), number()});
  }
  return profile;
}

TEST(SequenceLoad, CountsWhatStagesKeepAndRecompute) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    const SequenceProfile profile = sampled(random, 7);
    const SequenceLoad kept(profile, SequenceLoad::Crossing::bytes);
    const SequenceLoad again(profile, SequenceLoad::Crossing::bytes,
                             SequenceLoad::Recompute::stage);
    for (int first = 0; first < 7; ++first)
      for (int last = first + 1; last <= 7; ++last) {
        double work = 0, forward = 0, parameters = 0, inside = 0;
        for (int i = first; i < last; ++i) {
          const LayerProfile& layer = profile.layers[i];
          work += (layer.forward_ms + layer.backward_ms) / 1e3;
          forward += layer.forward_ms / 1e3;
          parameters += layer.parameter_bytes;
          if (i + 1 < last) inside += layer.activation_bytes;
        }
        const double enters = first > 0 ? profile.layers[first - 1].activation_bytes : 0;
        const double leaves = profile.layers[last - 1].activation_bytes;
        const double always = 4 * parameters + enters + (last < 7 ? leaves : 0);
        EXPECT_NEAR(kept.work(first, last), work, 1e-12);
        EXPECT_NEAR(again.work(first, last), work + forward, 1e-12);
        for (const int flying : {1, 3}) {
          EXPECT_EQ(kept.bytes(first, last, flying), always + flying * (enters + inside + leaves));
          EXPECT_EQ(again.bytes(first, last, flying), always + flying * (enters + leaves) + inside);
          EXPECT_EQ(again.recomputed_bytes(first, last), inside);
          for (int on = last; on <= 7; ++on)
            for (const SequenceLoad* sequence : {&kept, &again})
              EXPECT_LE(sequence->bytes_at_least(first, last, flying),
                        sequence->bytes(first, on, flying));
        }
      }
  }
}

}  // namespace
}  // namespace penstock::partition
