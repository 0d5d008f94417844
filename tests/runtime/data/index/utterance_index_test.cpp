#include "runtime/data/index/utterance_index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "base/error.h"
#include "runtime/data/index/index.h"
#include "runtime/data/index/index_layout.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// An index that a stranger may have written: its digests are right, whatever it holds.
class CraftedIndex : public testing::Test {
 protected:
  CraftedIndex() {
    std::string lines;
    for (int i = 0; i < 7; ++i)
      lines += fmt::format(
          "{{\"audio_filepath\": \"{}.wav\", \"text\": \"text {}\", \"offset\": {}, "
          "\"duration\": 0.5}}\n",
          i / 2, i, i % 2);
    test::write_file(in("train.jsonl"), lines + "{oops\n");
    whole_ = test::read_file(find({.manifest = in("train.jsonl"), .beside = true}).file);
    std::memcpy(&trailer_, whole_.data() + whole_.size() - sizeof trailer_, sizeof trailer_);
  }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  /// Each recording lasts 2 s.
  static FoundIndex find(const IndexOptions& options) {
    return find_index(options, [](std::span<const RecordingQuery> queries) {
      return RecordingAnswers(queries.size(),
                              RecordingAnswer{{3, 5}, PackedLength({32000, 16000}), {}});
    });
  }

  /// Changes one to three numbers or bytes anywhere, most of them to values near what is there.
  std::string mutant(std::mt19937& random) const {
    std::string bytes = whole_.substr(0, whole_.size() - sizeof trailer_);
    IndexTrailer trailer = trailer_;
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    for (std::uint64_t left = 1 + below(3); left > 0; --left) {
      const std::size_t at = below(bytes.size() / 8) * 8;
      std::uint64_t number = 0;
      std::memcpy(&number, bytes.data() + at, sizeof number);
      const std::uint64_t changed[] = {
          number + 1, number - 1,  number + bytes.size(),
          ~number,    below(1000), number ^ (std::uint64_t{1} << below(64))};
      number = changed[below(std::size(changed))];
      if (below(4) > 0)
        std::memcpy(bytes.data() + at, &number, sizeof number);
      else
        bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8));
    }
    std::uint64_t* const counts[] = {&trailer.utterances, &trailer.recordings, &trailer.strings,
                                     &trailer.tail};
    if (below(4) == 0) *counts[below(4)] += below(3) == 0 ? below(~std::uint64_t{0}) : below(64);
    trailer.content = hash_of(bytes);
    trailer.check = check_of(trailer);
    return bytes.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
  }

  /// Calls every member; gives what they add up to, so that none is left out.
  static std::size_t use(const UtteranceIndex& index) {
    std::size_t sum = index.sources().size() + index.faults().size();
    for (std::size_t u = 0; u < index.size(); ++u) {
      sum += index.text(u).size() + index.where(u).size() + index.path(u).size() +
             index.language(u).size();
      sum += static_cast<std::size_t>(index.length(u).samples + index.first(u).value_or(0));
      for (const char c : index.text(u)) sum += c == 'x';
      sum += index.duration(u).has_value();
    }
    for (const IndexedRecording& recording : index.recordings())
      sum += index.path(recording).size();
    return sum;
  }

  test::TemporaryFolder folder_;
  std::string whole_;
  IndexTrailer trailer_;
};

TEST_F(CraftedIndex, IsUsedOrRefusedByName) {
  std::mt19937 random(7);
  int used = 0, refused = 0, cut = 0, contradictory = 0;
  for (int i = 0; i < 600; ++i) {
    test::write_file(in("mutant"), mutant(random));
    const auto index = UtteranceIndex::open(in("mutant"));
    if (!index) {
      ++cut;
      continue;
    }
    ASSERT_TRUE(index->intact());
    const std::string contradiction = index->contradiction();
    contradictory += contradiction.empty() ? 0 : 1;
    const std::string fault = test::message_of<CheckpointError>([&] {
      ++used;
      EXPECT_GT(use(*index), 0u);
    });
    if (fault.empty()) continue;
    ++refused;
    EXPECT_NE(fault.find("mutant: damaged: "), std::string::npos) << fault;
    EXPECT_FALSE(contradiction.empty()) << fault;
  }
  EXPECT_GT(used, 300);
  EXPECT_GT(refused, 50);
  EXPECT_GT(contradictory, refused);
  EXPECT_GT(cut, 20);
}

TEST_F(CraftedIndex, IsMadeAnewAndNeverMisleads) {
  std::mt19937 random(8);
  const IndexOptions options{.manifest = in("train.jsonl"), .cache = {in("cache")}};
  int made = 0;
  for (int i = 0; i < 200; ++i) {
    test::write_file(in("train.jsonl.index"), mutant(random));
    const FoundIndex found = find(options);
    made += found.file != in("train.jsonl.index");
    EXPECT_EQ(found.index.contradiction(), "");
    EXPECT_EQ(found.index.size(), 7u);
  }
  EXPECT_GT(made, 100);
}

/// A source that has no end, a device say, is not read for its digest.
TEST_F(CraftedIndex, ReadsNoDeviceForItsDigest) {
  const IndexSource source{"/dev/zero", {0, 0}, 1};
  EXPECT_FALSE(unchanged(source, "/dev/zero", 1));
}

}  // namespace
}  // namespace penstock::runtime
