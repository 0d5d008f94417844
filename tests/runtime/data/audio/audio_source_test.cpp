#include "runtime/data/audio/audio_source.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class AudioSourceTest : public testing::Test {
 protected:
  AudioSourceTest() { test::write_sound(file_, sound_, {0x010006, 8000}); }

  std::vector<float> part(std::size_t first, std::size_t samples) const {
    const auto from = sound_.begin() + static_cast<std::ptrdiff_t>(first);
    return {from, from + static_cast<std::ptrdiff_t>(samples)};
  }

  test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "a.wav";
  std::vector<float> sound_ = test::make_sound(777);
};

TEST_F(AudioSourceTest, IsAWholeRecordingOrASegment) {
  EXPECT_EQ(read_source({file_, {777, 8000}}, file_).samples, sound_);
  EXPECT_EQ(read_source({file_, {100, 8000}, 33}, file_).samples, part(33, 100));
}

TEST_F(AudioSourceTest, HasPartsThatCountFromItsStart) {
  EXPECT_EQ(read_part({file_, {777, 8000}}, file_, {5, 7}).samples, part(5, 7));
  EXPECT_EQ(read_part({file_, {100, 8000}, 33}, file_, {5, 7}).samples, part(38, 7));
}

TEST_F(AudioSourceTest, NamesARecordingThatHasChanged) {
  for (const AudioLength indexed : {AudioLength{776, 8000}, AudioLength{777, 16000}}) {
    const std::string message = test::message_of<DataError>([&] {
      (void)read_source({"b.wav", indexed}, file_);
    });
    EXPECT_NE(message.find("b.wav: holds 777 samples at 8000 Hz, but held"), std::string::npos)
        << message;
  }
  EXPECT_THROW((void)read_part({file_, {777, 16000}}, file_, {5, 7}), DataError);
  EXPECT_THROW((void)read_part({file_, {777, 8000}}, file_, {770, 8}), DataError);
}

}  // namespace
}  // namespace penstock::runtime
