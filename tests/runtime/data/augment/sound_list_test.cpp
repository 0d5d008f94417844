#include "runtime/data/augment/sound_list.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

TEST(SoundHashes, NamesTheListsWithRecordings) {
  EXPECT_TRUE(sound_hashes({}).empty());
  AugmentSounds sounds;
  sounds.noises.count = 3;
  sounds.noises.hash = "17";
  EXPECT_EQ(sound_hashes(sounds), (std::map<std::string, std::string>{{"augment.noise", "17"}}));
  sounds.rooms.count = 1;
  sounds.rooms.hash = "4";
  EXPECT_EQ(sound_hashes(sounds),
            (std::map<std::string, std::string>{{"augment.noise", "17"}, {"augment.rooms", "4"}}));
}

}  // namespace
}  // namespace penstock::runtime
