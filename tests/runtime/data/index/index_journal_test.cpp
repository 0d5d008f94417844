#include "runtime/data/index/index_journal.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

KnownLength of(std::uint64_t recording, std::int64_t samples, std::int64_t changed = 7) {
  return {recording, {100, changed}, PackedLength({samples, 16000})};
}

class IndexJournalTest : public testing::Test {
 protected:
  KnownLengths read() const {
    KnownLengths known;
    read_journal(file_, known);
    known.sort();
    return known;
  }
  std::int64_t samples(std::uint64_t recording) const {
    const KnownLengths known = read();
    const KnownLength* const found = known.find(recording);
    return found == nullptr ? -1 : found->length.unpacked().samples;
  }

  test::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "train.jsonl.index.journal";
};

TEST_F(IndexJournalTest, HoldsWhatWasAppended) {
  EXPECT_TRUE(read().empty());
  IndexJournal(file_).append({of(7, 100), of(3, 101), of(2, 104, 9)});
  IndexJournal(file_).append({of(9, 102), of(7, 103, 8), of(2, 105)});
  EXPECT_EQ(samples(3), 101);
  EXPECT_EQ(samples(7), 103);  // that changed later
  EXPECT_EQ(samples(2), 104);
  EXPECT_EQ(samples(9), 102);
  EXPECT_EQ(samples(8), -1);
  EXPECT_EQ(read().find(3)->stamp, (FileStamp{100, 7}));
}

TEST_F(IndexJournalTest, GoesOnBehindAnEntryThatWasCut) {
  IndexJournal(file_).append({of(1, 100), of(2, 101)});
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 3);
  EXPECT_EQ(samples(1), 100);
  EXPECT_EQ(samples(2), -1);
  IndexJournal(file_).append({of(3, 102)});
  EXPECT_EQ(samples(1), 100);
  EXPECT_EQ(samples(3), 102);
}

TEST_F(IndexJournalTest, PassesOverDamage) {
  IndexJournal(file_).append({of(1, 100), of(2, 101), of(3, 102)});
  std::string bytes = test::read_file(file_);
  bytes[bytes.size() / 2] ^= 1;
  test::write_file(file_, bytes);
  EXPECT_EQ(samples(1), 100);
  EXPECT_EQ(samples(2), -1);
  EXPECT_EQ(samples(3), 102);
}

}  // namespace
}  // namespace penstock::runtime
