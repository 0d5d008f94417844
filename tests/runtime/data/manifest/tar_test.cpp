#include "runtime/data/manifest/tar.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/support/runtime/tar_writer.h"
#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using test::message_of, test::pax_record, test::tar_header, test::TarWriter;

class TarTest : public testing::Test {
 protected:
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }
  std::filesystem::path put(const std::string& bytes) const {
    test::write_file(in("t.tar"), bytes);
    return in("t.tar");
  }
  static std::vector<TarEntry> entries(const std::filesystem::path& tar) {
    std::vector<TarEntry> found;
    for_each_entry(FileRange(tar), [&](const TarEntry& entry) { found.push_back(entry); });
    return found;
  }
  std::string refusal(const std::string& bytes) const {
    return message_of<DataError>([&] { (void)entries(put(bytes)); });
  }
  test::TemporaryFolder folder_;
};

TarMember member(const std::filesystem::path& tar, const TarEntry& entry) {
  return {tar, entry.first, entry.bytes, entry.name};
}

class TarFormats : public TarTest, public testing::WithParamInterface<const char*> {};

/// Files of ragged sizes with short, long and foreign names, as the tar command packs them.
TEST_P(TarFormats, AreReadAsTheCommandWritesThem) {
  const bool old = GetParam() == std::string("v7");
  std::map<std::string, std::string> files = {{"empty.wav", ""},
                                              {"one", "1"},
                                              {"b/block", std::string(512, 'b')},
                                              {"b/more.flac", std::string(513, 'm')},
                                              {"große Dateien.txt", std::string(70001, 'g')}};
  if (!old) {
    files["d/" + std::string(60, 'd') + "/" + std::string(95, 'n')] = "beyond a header's name";
    if (GetParam() != std::string("ustar")) files[std::string(201, 'x') + ".wav"] = "longer";
  }
  for (const auto& [name, bytes] : files) {
    std::filesystem::create_directories(in("files/" + name).parent_path());
    test::write_file(in("files/" + name), bytes);
  }
  const auto made = test::run_program({"tar", "--format", GetParam(), "-cf",
                                       in("made.tar").string(), "-C", in("files").string(), "."});
  ASSERT_EQ(made.code, 0) << made.err;
  std::map<std::string, std::string> found;
  const FileRange tar(in("made.tar"));
  for (const TarEntry& entry : entries(in("made.tar"))) {
    found[entry.name] = tar.read(entry.first, entry.bytes);
    EXPECT_FALSE(entry.link);
    EXPECT_TRUE(holds(tar, member(in("made.tar"), entry))) << entry.name;
  }
  EXPECT_EQ(found, files);
}

INSTANTIATE_TEST_SUITE_P(Of, TarFormats, testing::Values("v7", "ustar", "gnu", "oldgnu", "pax"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(TarTest, LinksHaveNoBytes) {
  test::write_file(in("a.wav"), "audio");
  std::filesystem::create_hard_link(in("a.wav"), in("b.wav"));
  std::filesystem::create_symlink("a.wav", in("c.wav"));
  ASSERT_EQ(test::run_program({"tar", "-cf", in("t.tar").string(), "-C", folder_.path().string(),
                               "a.wav", "b.wav", "c.wav"})
                .code,
            0);
  const auto found = entries(in("t.tar"));
  ASSERT_EQ(found.size(), 3u);
  for (const std::size_t i : {0, 1, 2}) {
    EXPECT_EQ(found[i].link, i > 0);
    EXPECT_EQ(found[i].bytes, i > 0 ? 0 : 5);
  }
}

/// Sizes that octal digits do not hold, of files that are mostly holes.
TEST_F(TarTest, FollowsSizesAboveEightGibibytes) {
  constexpr std::int64_t kLarge = (std::int64_t{9} << 30) + 77;
  const std::string records =
      pax_record("comment", "=\n=") + pax_record("size", std::to_string(kLarge));
  const std::string base_256 = tar_header({.name = "large", .bytes = kLarge, .large_size = true});
  const std::string pax = tar_header({.name = "x", .bytes = std::ssize(records), .type = 'x'}) +
                          test::in_blocks(records) + tar_header({.name = "large"});
  const std::string last = TarWriter().add("last", "and least").bytes();
  for (const std::string& head : {base_256, pax}) {
    const auto tar = put(head);
    const auto begin = std::ssize(head) + (kLarge + 511) / 512 * 512;
    std::filesystem::resize_file(tar, static_cast<std::uintmax_t>(begin));
    test::write_file(in("last"), last);
    ASSERT_EQ(test::run_program(
                  {"sh", "-c", fmt::format("cat '{}' >> '{}'", in("last").string(), tar.string())})
                  .code,
              0);
    const auto found = entries(tar);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].bytes, kLarge);
    EXPECT_EQ(found[0].first, std::ssize(head));
    EXPECT_TRUE(holds(FileRange(tar), member(tar, found[0])));
    EXPECT_EQ(FileRange(tar).read(found[1].first, found[1].bytes), "and least");
  }
}

TEST_F(TarTest, PrefixesAndRecordsCountForOneMemberAlone) {
  const std::string records = pax_record("path", "./renamed/über.wav");
  const auto found = entries(put(TarWriter()
                                     .add("x", records, 'x')
                                     .add("plain", "1")
                                     .add_raw(tar_header({.name = "n.wav", .prefix = "p/q"}))
                                     .add("././@LongLink", std::string("long.wav\0", 9), 'L')
                                     .add("short", "22")
                                     .add("folder/", "", '5')
                                     .add("g", pax_record("path", "of none"), 'g')
                                     .add("plain", "333")
                                     .bytes()));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].name, "renamed/über.wav");
  EXPECT_EQ(found[1].name, "p/q/n.wav");
  EXPECT_EQ(found[2].name, "long.wav");
  EXPECT_EQ(found[3].name, "plain");
  EXPECT_EQ(found[3].bytes, 3);
}

TEST_F(TarTest, SaysWhatIsWrongAndWhere) {
  const std::string two =
      TarWriter().add("a.wav", std::string(700, 'a')).add("b.wav", "bb").bytes();
  std::string damaged = two;
  damaged[1536 + 3] ^= 1;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "t.tar: empty file"},
      {"version https://git-lfs.github.com/spec/v1\n", "is no tar"},
      {std::string("\x1f\x8b\x08\x00", 4) + std::string(600, 'z'),
       "is compressed by gzip, so that its members cannot be read in any order: unpack it, by gzip "
       "-d"},
      {std::string("\x28\xb5\x2f\xfd") + std::string(600, 'z'), "unpack it, by zstd -d"},
      {two.substr(0, 1100),
       "is cut: its member a.wav needs 700 bytes from byte 512 on, but the tar ends at byte 1100"},
      {two.substr(0, 1700), "damaged or cut: there is no whole header at byte 1536"},
      {two.substr(0, 1536), "is cut: it ends without the block of zeros"},
      {damaged, "damaged or cut: there is no whole header at byte 1536"},
      {two + two, "goes on after its end, from byte 3584 on, as tars do that cat has joined"},
      {TarWriter().add("s.wav", "x", 'S').bytes(),
       "its member s.wav is sparse: make the tar without --sparse"},
      {TarWriter().add("x", pax_record("GNU.sparse.major", "1"), 'x').add("p.wav", "x").bytes(),
       "its member p.wav is sparse"},
      {TarWriter().add("x", "12 no record", 'x').add("p.wav", "x").bytes(),
       "damaged: the records at byte 512"},
  };
  for (const auto& [bytes, said] : cases)
    EXPECT_NE(refusal(bytes).find(said), std::string::npos)
        << said << " is not in: " << refusal(bytes);
}

TEST_F(TarTest, MemberIsKnownByItsHeader) {
  const auto tar = put(TarWriter().add("a.wav", "aaa").add("b.wav", "bbbb").bytes());
  const auto found = entries(tar);
  const FileRange file(tar);
  const TarMember b = member(tar, found[1]);
  EXPECT_TRUE(holds(file, b));
  EXPECT_FALSE(holds(file, {tar, b.first, b.bytes, "c.wav"}));
  EXPECT_FALSE(holds(file, {tar, b.first, b.bytes + 1, "b.wav"}));
  EXPECT_FALSE(holds(file, {tar, b.first + 512, b.bytes, "b.wav"}));
  EXPECT_FALSE(holds(file, {tar, 1 << 20, b.bytes, "b.wav"}));
  EXPECT_FALSE(holds(file, {tar, 3, 1, "b.wav"}));
}

}  // namespace
}  // namespace penstock::runtime
