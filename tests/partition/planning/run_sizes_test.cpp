#include "partition/planning/run_sizes.h"

#include <gtest/gtest.h>

#include "tests/support/chosen_layers.h"

namespace penstock {
namespace {

/// For every choice of a chunk's layers what ChunkSizes says and what laying it out says.
TEST(ChunkSizes, AreThoseOfTheLayout) {
  const Chain chain = test::chain_to_choose_from();
  for (const auto& [schedule, first, last, chunk] : test::chunks_to_choose_from()) {
    const ChunkBytes none = test::bytes_with(chain, schedule, {});
    const ChunkSizes sizes(none.training(first, last, chunk));
    const auto kept = static_cast<double>(none(first, last, chunk).total());
    for (int mask = 0; mask < 1 << (last - first); ++mask) {
      const ChosenLayers chosen = test::chosen_by(mask, first, last, chain.size());
      const double laid_out =
          static_cast<double>(
              test::bytes_with(chain, schedule, chosen)(first, last, chunk).total()) -
          kept;
      RunSizes all;
      for (const LayerRun& run : runs_of(chosen_among(chosen, first, last)))
        all = sizes.joined(all, sizes.of(run));
      for (int i = 1; i < last - first; ++i)
        if ((mask >> i & 1) == 0 && (mask >> (i - 1) & 1) == 0)
          all = sizes.joined(all, sizes.without({i, i + 1}));
      ASSERT_EQ(sizes.change(all, mask > 0), laid_out) << schedule << ", " << mask;
    }
  }
}

}  // namespace
}  // namespace penstock
