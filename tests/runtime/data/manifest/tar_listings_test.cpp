#include "runtime/data/manifest/tar_listings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/data/audio/audio_file.h"
#include "runtime/data/manifest/tar_member.h"
#include "tests/support/runtime/tar_writer.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using test::message_of, test::TarWriter;
using Paths = std::vector<std::filesystem::path>;

class TarListingsTest : public testing::Test {
 protected:
  std::filesystem::path put(const std::string& name, const std::string& bytes) const {
    test::write_file(folder_.path() / name, bytes);
    return folder_.path() / name;
  }
  test::TemporaryFolder folder_;
  Paths sources_;
  TarListings listings_{sources_};
};

TEST_F(TarListingsTest, FindsEachOfManyMembers) {
  TarWriter writer;
  for (int i = 0; i < 501; ++i) writer.add(fmt::format("./d/{}.wav", i), std::string(i % 7, 'a'));
  const auto tar = put("many.tar", writer.bytes());
  std::int64_t first = 512;
  for (int i = 0; i < 501; ++i) {
    const auto found = listings_.find(tar, fmt::format("{}d/{}.wav", i % 2 == 0 ? "" : "./", i));
    ASSERT_TRUE(found) << i;
    EXPECT_EQ(*found, path_of({tar, first, i % 7, fmt::format("d/{}.wav", i)}));
    first += i % 7 == 0 ? 512 : 1024;
  }
  EXPECT_EQ(sources_, Paths{tar});
}

TEST_F(TarListingsTest, TakesTheLastOfOneName) {
  const auto tar = put("t.tar", TarWriter().add("a", "1").add("b", "22").add("a", "333").bytes());
  EXPECT_EQ(tar_member(listings_.get(tar, "a").native())->bytes, 3);
}

TEST_F(TarListingsTest, NamesWhatIsMissing) {
  const auto tar = put("t.tar", TarWriter().add("a.wav", "1").add("b.wav", "2").bytes());
  const auto none = put("none.tar", TarWriter().bytes());
  EXPECT_EQ(listings_.find(tar, "c.wav"), std::nullopt);
  EXPECT_EQ(message_of<DataError>([&] { (void)listings_.get(tar, "c.wav"); }),
            tar.string() + ": has no member \"c.wav\" among its 2 files, such as \"a.wav\"");
  EXPECT_EQ(message_of<DataError>([&] { (void)listings_.get(none, "c.wav"); }),
            none.string() + ": has no member \"c.wav\" among its 0 files");
}

/// Members that lie before the damage can be used.
TEST_F(TarListingsTest, SaysWhyTheRestIsNotRead) {
  const std::string whole =
      TarWriter().add("a.wav", "1").add("b.wav", std::string(99, 'b')).bytes();
  const auto tar = put("cut.tar", whole.substr(0, 1600));
  EXPECT_TRUE(listings_.find(tar, "a.wav"));
  const std::string message = message_of<DataError>([&] { (void)listings_.find(tar, "b.wav"); });
  EXPECT_NE(message.find("cut.tar: is cut: its member b.wav needs 99 bytes"), std::string::npos)
      << message;
}

TEST_F(TarListingsTest, RefusesLinks) {
  const auto tar =
      put("t.tar", TarWriter()
                       .add("a.wav", "1")
                       .add_raw(test::tar_header({.name = "b.wav", .type = '1', .target = "a.wav"}))
                       .bytes());
  const std::string message = message_of<DataError>([&] { (void)listings_.find(tar, "b.wav"); });
  EXPECT_NE(message.find("t.tar:b.wav: is a link: pack the recordings themselves, by tar "
                         "--dereference --hard-dereference"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace penstock::runtime
