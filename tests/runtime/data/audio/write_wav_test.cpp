#include "runtime/data/audio/write_wav.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/file_handle.h"
#include "runtime/data/audio/audio.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(WriteWav, KeepsEveryBit) {
  const test::TemporaryFolder folder;
  std::vector<float> samples = test::make_sound(1001);
  samples.insert(samples.end(), {1.5f, -3, std::nextafter(0.25f, 1.0f), 1e-38f, -0.0f});
  write_wav(folder.path() / "a.wav", samples, 11025);
  const Audio audio = read_audio(folder.path() / "a.wav");
  EXPECT_EQ(audio.rate, 11025);
  EXPECT_EQ(audio.samples, samples);
}

/// libsndfile dates its chunk of peaks, so equal samples would have unequal files.
TEST(WriteWav, HasNoTimeOfWriting) {
  const test::TemporaryFolder folder;
  write_wav(folder.path() / "a.wav", test::make_sound(10), 8000);
  const std::string bytes = test::read_file(folder.path() / "a.wav");
  EXPECT_EQ(bytes.substr(0, 4), "RIFF");
  EXPECT_EQ(bytes.find("PEAK"), std::string::npos);
}

TEST(WriteWav, NamesAFolderThatIsNotThere) {
  const test::TemporaryFolder folder;
  const std::string message = test::message_of<FileError>(
      [&] { write_wav(folder.path() / "gone" / "a.wav", test::make_sound(10), 8000); });
  EXPECT_NE(message.find("gone/a.wav: can't be written: "), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock::runtime
