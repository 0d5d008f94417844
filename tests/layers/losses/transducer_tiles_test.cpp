#include "layers/losses/transducer_tiles.h"

#include <gtest/gtest.h>

namespace penstock::layers {
namespace {

using Numbers = std::vector<std::int64_t>;

const Numbers kTileLengths = {7, 0, 3, 1}, kTilePositions = {3, 2, 11, 1};

TEST(TransducerTiles, CoverEachCellOnceInOrder) {
  for (const std::int64_t most : {0, 1, 6, 7, 11, 1000}) {
    SCOPED_TRACE(most);
    std::int64_t frame = 0, cell = 0;
    for (const TransducerTile& tile : transducer_tiles(kTileLengths, kTilePositions, most)) {
      EXPECT_EQ(tile.first_frame, frame);
      EXPECT_EQ(tile.first_cell, cell);
      EXPECT_GT(tile.frames, 0);
      EXPECT_TRUE(tile.frames == 1 || tile.cells() <= most);
      frame += tile.frames;
      cell += tile.cells();
    }
    EXPECT_EQ(frame, 7 + 3 + 1);
    EXPECT_EQ(cell, 7 * 3 + 3 * 11 + 1);
  }
}

TEST(TransducerTiles, TakeWholeFramesOfOneUtterance) {
  const auto tiles = transducer_tiles(kTileLengths, kTilePositions, 12);
  ASSERT_EQ(tiles.size(), 6u);  // of 4 and 3 frames, of 1 frame each, and of 1
  EXPECT_EQ(tiles[1].first_frame, 4);
  EXPECT_EQ(tiles[1].frames, 3);
  EXPECT_EQ(tiles[1].first_position, 0);
  EXPECT_EQ(tiles[3].frames, 1);
  EXPECT_EQ(tiles[3].first_position, 3 + 2);
  EXPECT_EQ(tiles[5].first_position, 3 + 2 + 11);
}

// CUDA's grids have no more rows.
TEST(TransducerTiles, HaveAtMost65535Frames) {
  const auto tiles = transducer_tiles(Numbers{70000}, Numbers{1}, 1 << 24);
  ASSERT_EQ(tiles.size(), 2u);
  EXPECT_EQ(tiles[0].frames, 65535);
  EXPECT_EQ(tiles[1].frames, 70000 - 65535);
}

TEST(TransducerTiles, FitTheirRows) {
  for (const std::int64_t most : {0, 1, 5, 12, 100}) {
    const TransducerTileRows rows = transducer_tile_rows(kTileLengths, kTilePositions, most);
    for (const TransducerTile& tile : transducer_tiles(kTileLengths, kTilePositions, most)) {
      EXPECT_LE(tile.frames, rows.frames) << most;
      EXPECT_LE(tile.positions, rows.positions) << most;
      EXPECT_LE(tile.cells(), rows.cells) << most;
    }
  }
}

TEST(TransducerTiles, RowsGrowWithFramesAndLabels) {
  for (const std::int64_t most : {1, 10, 12, 300})
    for (std::int64_t frames = 0; frames < 30; ++frames)
      for (std::int64_t positions = 1; positions < 15; ++positions) {
        const auto rows = [&](std::int64_t t, std::int64_t p) {
          return transducer_tile_rows(Numbers{t}, Numbers{p}, most);
        };
        const TransducerTileRows few = rows(frames, positions);
        for (const TransducerTileRows& more :
             {rows(frames + 1, positions), rows(frames, positions + 1)}) {
          EXPECT_GE(more.frames, few.frames);
          EXPECT_GE(more.positions, few.positions);
          EXPECT_GE(more.cells, few.cells);
        }
      }
}

}  // namespace
}  // namespace penstock::layers
