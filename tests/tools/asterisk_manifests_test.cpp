#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "tests/support/runtime/sounds.h"
#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

/// The packages as they would be unpacked, with twelve prompts.
class AsteriskManifests : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path share = folder_.path() / "packages/usr/share";
    const fs::path sounds = share / "asterisk/sounds/en_US_f_Allison";
    const fs::path texts = share / "doc/asterisk-core-sounds-en";
    fs::create_directories(sounds / "digits");
    fs::create_directories(texts);
    std::string lines = "; Core Asterisk Sounds in English\n\n";
    for (const auto& [name, text] :
         std::vector<std::pair<std::string, std::string>>{{"a", "Press 10 or # - it's [tone] OK!"},
                                                          {"beep", "[this is a simple beep tone]"},
                                                          {"confbridge-leave", "<beep>"},
                                                          {"digits/1", "one"},
                                                          {"long", "Too long."},
                                                          {"without-sound", "Nothing."}}) {
      lines += name + ": " + text + "\n";
      if (name == "without-sound") continue;
      const std::int64_t samples = name == "long" ? 15 * 8000 + 1 : 8001;
      test::write_sound(sounds / (name + ".wav"), test::make_sound(samples), {0x010002, 8000});
    }
    for (char c = 'p'; c < 'z'; ++c) {
      lines += std::string(1, c) + ": " + c + ".\n";
      test::write_sound(sounds / (std::string(1, c) + ".wav"), test::make_sound(4000),
                        {0x010002, 8000});
    }
    test::write_file(texts / "core-sounds-en.txt", lines);
    ASSERT_EQ(test::run_program({"gzip", (texts / "core-sounds-en.txt").string()}).code, 0);
  }

  test::TemporaryFolder folder_;
};

TEST_F(AsteriskManifests, KeepSpeechAndHoldEveryTenthOut) {
  const auto outcome = test::run_program(
      {test::source("tools/asterisk_manifests").string(), folder_.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "11 prompts to train on, 1 held out\n");
  const std::string train = test::read_file(folder_.path() / "train.jsonl");
  EXPECT_NE(
      train.find(
          "/a.wav\", \"duration\": 1.000125, \"text\": \"press one zero or pound it's ok\"}\n"),
      std::string::npos)
      << train;
  EXPECT_NE(train.find("/digits/1.wav\""), std::string::npos) << train;
  for (const char* left_out : {"beep", "confbridge", "long", "without"}) {
    EXPECT_EQ(train.find(left_out), std::string::npos) << left_out;
  }
  EXPECT_NE(test::read_file(folder_.path() / "held-out.jsonl").find("/w.wav"), std::string::npos);
}

/// apt installs GSM by default; here it has no other files, and can't download any.
TEST_F(AsteriskManifests, SayHowToInstallTheirPrompts) {
  const fs::path sounds = folder_.path() / "packages/usr/share/asterisk/sounds/en_US_f_Allison";
  std::vector<fs::path> waves;
  for (const auto& item : fs::recursive_directory_iterator(sounds))
    if (item.path().extension() == ".wav") waves.push_back(item.path());
  for (const fs::path& wave : waves) fs::rename(wave, fs::path(wave).replace_extension(".gsm"));
  fs::create_directories(folder_.path() / "bin");
  fs::create_symlink("/bin/false", folder_.path() / "bin/apt-get");
  const auto outcome = test::run_program(
      {"env", "PATH=" + (folder_.path() / "bin").string() + ":/usr/bin:/bin",
       test::source("tools/asterisk_manifests").string(), folder_.path().string()});
  if (fs::exists("/usr/share/asterisk/sounds/en_US_f_Allison")) {
    GTEST_SKIP() << "the prompts are installed on this machine";
  }
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_NE(outcome.err.find("sudo apt-get install -y asterisk-core-sounds-en "
                             "asterisk-core-sounds-en-wav\n"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

}  // namespace
}  // namespace penstock::tools
