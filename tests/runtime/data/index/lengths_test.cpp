#include "runtime/data/index/lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/error.h"

namespace penstock::runtime {
namespace {

TEST(PackedLength, HoldsSamplesAndRate) {
  EXPECT_EQ(sizeof(PackedLength), 8u);
  EXPECT_FALSE(PackedLength().known());
  for (const AudioLength& length :
       {AudioLength{1, 8000}, AudioLength{(std::int64_t{1} << 40) - 1, 44100},
        AudioLength{777, (1 << 24) - 1}}) {
    EXPECT_TRUE(PackedLength(length).known());
    EXPECT_EQ(PackedLength(length).unpacked(), length);
  }
  EXPECT_THROW(PackedLength({std::int64_t{1} << 40, 16000}), DataError);
  EXPECT_THROW(PackedLength({1, 1 << 24}), DataError);
}

TEST(LeftOut, CountsTheOthersAnew) {
  for (const std::vector<std::uint64_t>& places :
       std::vector<std::vector<std::uint64_t>>{{}, {0}, {4, 5, 6}, {0, 1, 7, 9}, {12}}) {
    LeftOut left_out;
    for (const std::uint64_t place : places) left_out.add(place);
    std::vector<std::uint64_t> expected, found;
    for (std::uint64_t place = 0; place < 13; ++place)
      if (std::ranges::count(places, place) == 0) expected.push_back(place);
    const LeftOut again = LeftOut::of_ids(left_out.ids());
    for (std::uint64_t id = 0; id < expected.size(); ++id) found.push_back(again.place_of(id));
    EXPECT_EQ(found, expected);
    EXPECT_EQ(again.size(), places.size());
  }
}

TEST(Lengths, ReadATableWithoutWhatIsLeftOut) {
  const auto table = std::make_shared<std::vector<PackedLength>>();
  for (int i = 0; i < 5; ++i) table->emplace_back(AudioLength{100 + i, 16000});
  const auto left_out = std::make_shared<LeftOut>();
  left_out->add(0);
  left_out->add(3);
  EXPECT_EQ(Lengths(table, *table, left_out), Lengths({{101, 16000}, {102, 16000}, {104, 16000}}));
  EXPECT_EQ(Lengths(table, *table, nullptr).size(), 5u);
  EXPECT_TRUE(Lengths().empty());
  EXPECT_FALSE(Lengths({{101, 16000}}) == Lengths({{101, 8000}}));
}

TEST(Lengths, AreVisitedAsTheyAreLookedUp) {
  std::vector<PackedLength> table;
  for (std::int64_t place = 0; place < 13; ++place) table.emplace_back(AudioLength{100 + place, 8});
  for (const std::vector<std::uint64_t>& places :
       {std::vector<std::uint64_t>{}, {0, 1, 5, 12}, {3, 4}, {11, 12}}) {
    auto left_out = std::make_shared<LeftOut>();
    for (const std::uint64_t place : places) left_out->add(place);
    Lengths lengths(nullptr, table, left_out);
    lengths.append(Lengths({{7, 16}, {9, 16}}));
    lengths.append(Lengths(nullptr, table, left_out));
    std::vector<AudioLength> visited;
    lengths.for_each([&](std::uint64_t id, const AudioLength& length) {
      EXPECT_EQ(id, visited.size());
      visited.push_back(length);
    });
    ASSERT_EQ(visited.size(), lengths.size());
    for (std::size_t id = 0; id < visited.size(); ++id) EXPECT_EQ(visited[id], lengths[id]) << id;
  }
}

TEST(Lengths, MayFollowEachOther) {
  const auto table = std::make_shared<std::vector<PackedLength>>();
  for (int i = 0; i < 5; ++i) table->emplace_back(AudioLength{100 + i, 16000});
  const auto left_out = std::make_shared<LeftOut>();
  left_out->add(1);
  Lengths all;
  all.append(Lengths(table, *table, left_out));
  all.append(Lengths({{7, 8000}}));
  all.append(Lengths(table, *table, nullptr));
  EXPECT_EQ(all, Lengths({{100, 16000},
                          {102, 16000},
                          {103, 16000},
                          {104, 16000},
                          {7, 8000},
                          {100, 16000},
                          {101, 16000},
                          {102, 16000},
                          {103, 16000},
                          {104, 16000}}));
}

}  // namespace
}  // namespace penstock::runtime
