#include "runtime/data/audio/audio.h"

#include <gtest/gtest.h>
#include <sndfile.h>
#include <sys/stat.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "runtime/data/manifest/tar_member.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/tar_writer.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using test::make_sound, test::message_of, test::SoundFormat, test::write_file, test::write_sound;

struct FormatCase {
  const char* name;
  int format;
  double tolerance;  // of a sample; lossy formats have none
};

class AudioFormats : public testing::TestWithParam<FormatCase> {
 protected:
  std::filesystem::path file() const {
    return folder_.path() / (std::string("sound.") + GetParam().name);
  }
  std::filesystem::path folder() const { return folder_.path(); }
  SoundFormat format(int channels = 1) const { return {GetParam().format, 16000, channels}; }

 private:
  test::TemporaryFolder folder_;
};

TEST_P(AudioFormats, AreReadWithTheirExactLength) {
  const std::vector<float> sound = make_sound(20011);
  if (!write_sound(file(), sound, format())) GTEST_SKIP() << "libsndfile was built without it";
  const Audio audio = read_audio(file());
  EXPECT_EQ(measure_audio(file()), (AudioLength{20011, 16000}));
  EXPECT_EQ(audio_length(file()), (AudioLength{20011, 16000}));
  ASSERT_EQ(audio.samples.size(), 20011u);
  EXPECT_EQ(audio.rate, 16000);
  for (std::size_t i = 0; i < sound.size(); ++i)
    ASSERT_NEAR(audio.samples[i], sound[i], GetParam().tolerance) << i;
}

/// At the start, across blocks and packets, at the very end.
TEST_P(AudioFormats, GiveAnySamplesAsTheWholeHasThem) {
  if (!write_sound(file(), make_sound(2 * 50021), format(2)))
    GTEST_SKIP() << "libsndfile was built without it";
  const std::vector<float> whole = read_audio(file()).samples;
  ASSERT_EQ(whole.size(), 50021u);
  for (const auto& [first, samples] :
       {SampleRange{0, 1}, SampleRange{0, 50021}, SampleRange{1, 777}, SampleRange{4097, 40000},
        SampleRange{33333, 16385}, SampleRange{50020, 1}}) {
    const Audio audio = read_audio(file(), {first, samples});
    EXPECT_EQ(audio.rate, 16000);
    EXPECT_EQ(audio.samples,
              std::vector<float>(whole.begin() + first, whole.begin() + first + samples))
        << first;
  }
  for (const auto& range : {SampleRange{50000, 22}, SampleRange{50021, 1}, SampleRange{99999, 3}}) {
    const std::string message = message_of<DataError>([&] { (void)read_audio(file(), range); });
    EXPECT_NE(message.find(file().string()), std::string::npos) << message;
  }
}

/// Ranges that overlap, follow one another, lie within the last one, or go back.
TEST_P(AudioFormats, GiveRangesOneAfterAnother) {
  if (!write_sound(file(), make_sound(50021), format()))
    GTEST_SKIP() << "libsndfile was built without it";
  RangeReader reader;
  const auto expect_read = [&](const SampleRange& range) {
    const Audio expected = read_audio(file(), range), found = reader.read(file(), range);
    EXPECT_EQ(found.samples, expected.samples) << range.first;
    EXPECT_EQ(found.rate, expected.rate);
  };
  for (const auto& [first, samples] :
       {SampleRange{0, 20000}, SampleRange{15000, 20001}, SampleRange{16000, 100},
        SampleRange{30000, 10000}, SampleRange{40000, 1}, SampleRange{45000, 5021}})
    expect_read({first, samples});
  const std::int64_t once = reader.decoded();
  EXPECT_TRUE(once == 0 || once == 50021) << once;  // 0: formats that can be entered
  EXPECT_THROW((void)reader.read(file(), {45000, 5022}), DataError);
  expect_read({45000, 5021});
  expect_read({10, 20});
  const auto other = folder() / "other";
  ASSERT_TRUE(write_sound(other, make_sound(3000, 2), format()));
  EXPECT_EQ(reader.read(other, {100, 200}).samples, read_audio(other, {100, 200}).samples);
}

/// To the bit, between other members, of which nothing is looked at.
TEST_P(AudioFormats, AreTheSameInsideATar) {
  if (!write_sound(file(), make_sound(2 * 30011), format(2)))
    GTEST_SKIP() << "libsndfile was built without it";
  const std::string bytes = test::read_file(file());
  const std::string before(777, '\xff');
  const auto tar = folder() / "t.tar";
  write_file(tar, test::in_blocks(before) +
                      test::tar_header({.name = "s", .bytes = std::ssize(bytes)}) +
                      test::in_blocks(bytes) + before);
  const auto member = path_of({tar, 1536, std::ssize(bytes), "s"});
  EXPECT_EQ(read_audio(member).samples, read_audio(file()).samples);
  EXPECT_EQ(measure_audio(member), measure_audio(file()));
  EXPECT_EQ(audio_length(member), audio_length(file()));
  for (const auto& range : {SampleRange{0, 1}, SampleRange{4097, 20003}, SampleRange{30010, 1}})
    EXPECT_EQ(read_audio(member, range).samples, read_audio(file(), range).samples) << range.first;
}

TEST_P(AudioFormats, CutOffAreRejectedInsideATar) {
  if (!write_sound(file(), make_sound(20011), format()))
    GTEST_SKIP() << "libsndfile was built without it";
  const std::string whole = test::read_file(file());
  const std::string cut = whole.substr(0, static_cast<std::size_t>(0.6 * whole.size()));
  const auto tar = folder() / "t.tar";
  write_file(tar, test::TarWriter().add("s.x", cut).add("t.x", whole).bytes());
  const auto member = path_of({tar, 512, std::ssize(cut), "s.x"});
  const std::string message = message_of<DataError>([&] { (void)measure_audio(member); });
  EXPECT_NE(message.find("t.tar:s.x: "), std::string::npos) << message;
}

TEST_P(AudioFormats, CutOffAreRejected) {
  if (!write_sound(file(), make_sound(20011), format()))
    GTEST_SKIP() << "libsndfile was built without it";
  const std::string whole = test::read_file(file());
  for (const double share : {0.99, 0.6, 0.2}) {
    write_file(file(), whole.substr(0, static_cast<std::size_t>(share * whole.size())));
    const std::string message = message_of<DataError>([&] { (void)measure_audio(file()); });
    EXPECT_NE(message.find(file().string()), std::string::npos) << share << message;
    EXPECT_EQ(message_of<DataError>([&] { (void)audio_length(file()); }), message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Libsndfile, AudioFormats,
    testing::Values(FormatCase{"wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1e-4},
                    FormatCase{"float.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 0},
                    FormatCase{"flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 1e-4},
                    FormatCase{"ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 0.2},
                    FormatCase{"opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 0.3},
                    FormatCase{"sph", SF_FORMAT_NIST | SF_FORMAT_PCM_16, 1e-4},
                    FormatCase{"mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 0.3}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::erase(name, '.');
      return name;
    });

TEST(Audio, ChannelsAreMixed) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "stereo.wav";
  write_sound(file, std::vector<float>{0.5f, -0.25f, 0.75f, 0.25f, 0, 1}, {0x010006, 8000, 2});
  EXPECT_EQ(read_audio(file).samples, (std::vector<float>{0.125f, 0.5f, 0.5f}));
  EXPECT_EQ(measure_audio(file), (AudioLength{3, 8000}));
}

TEST(Audio, RejectsWhatIsNoAudioAndSaysWhy) {
  const test::TemporaryFolder folder;
  const auto expect = [&](const std::filesystem::path& file, const char* reason) {
    const std::string message = message_of<DataError>([&] { (void)read_audio(file); });
    EXPECT_NE(message.find(file.string()), std::string::npos) << message;
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  };
  expect(folder.path() / "missing.wav", "no such file");
  expect(folder.path(), "a folder");
  ASSERT_EQ(mkfifo((folder.path() / "pipe.wav").c_str(), 0600), 0);
  expect(folder.path() / "pipe.wav", "a pipe or device");
  write_file(folder.path() / "empty.wav", "");
  expect(folder.path() / "empty.wav", "empty");
  write_file(folder.path() / "text.wav", "This is a text and not a sound, however long it is.");
  expect(folder.path() / "text.wav", "not audio");
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                           SF_FORMAT_NIST | SF_FORMAT_PCM_16}) {
    write_sound(folder.path() / "none", {}, {format});
    expect(folder.path() / "none", "");
  }
  write_sound(folder.path() / "nan.wav", std::vector<float>{0, 1, NAN}, {0x010006});
  expect(folder.path() / "nan.wav", "sample 2 is not a finite number");
  write_sound(folder.path() / "loud.wav", std::vector<float>{0, -1e30f, 1}, {0x010006});
  expect(folder.path() / "loud.wav", "sample 1 is -1e+30, but sound lies between -1 and 1");
}

/// Noise that nobody asks for is not decoded: it is no finite number.
TEST(Audio, SegmentsDecodeNothingElse) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "nan.wav";
  write_sound(file, std::vector<float>{NAN, 0.5f, 0.25f, NAN}, {0x010006});
  EXPECT_EQ(read_audio(file, {1, 2}).samples, (std::vector<float>{0.5f, 0.25f}));
  const std::string message = message_of<DataError>([&] { (void)read_audio(file, {1, 3}); });
  EXPECT_NE(message.find("sample 3 is not a finite number"), std::string::npos) << message;
}

TEST(Audio, PipedWaveHasTheSamplesThatAreThere) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "pipe.wav";
  write_sound(file, make_sound(777));
  std::string bytes = test::read_file(file);
  bytes.replace(bytes.find("data") + 4, 4, "\xff\xff\xff\xff");
  write_file(file, bytes);
  EXPECT_EQ(measure_audio(file).samples, 777);
  EXPECT_EQ(audio_length(file).samples, 777);
}

/// Only a whole decoding would see the sample.
TEST(Audio, LengthsComeFromHeadersWhereTheyAreThere) {
  const test::TemporaryFolder folder;
  for (const int format : {SF_FORMAT_WAV, SF_FORMAT_AIFF, SF_FORMAT_CAF, SF_FORMAT_AU}) {
    const auto file = folder.path() / "nan";
    write_sound(file, std::vector<float>{0, 1, NAN}, {format | SF_FORMAT_FLOAT});
    EXPECT_EQ(audio_length(file).samples, 3) << format;
    EXPECT_THROW((void)measure_audio(file), DataError) << format;
  }
}

}  // namespace
}  // namespace penstock::runtime
