#include "runtime/checkpoint/read_back.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/error.h"
#include "base/file_handle.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

class ReadBack : public testing::Test {
 protected:
  ReadBack()
      : shard_(write_shard(folder_.path(), "stage-0", test::example_pieces(tensors_, 0, 1))) {}
  fs::path file() const { return folder_.path() / shard_.file; }
  void flip(std::size_t byte) const {
    std::string bytes = test::read_file(file());
    bytes.at(byte) ^= 8;
    test::write_file(file(), bytes);
  }
  std::string complaint() const {
    return test::message_of<CheckpointError>([this] { read_back(folder_.path(), shard_); });
  }

  const test::TemporaryFolder folder_;
  const std::vector<test::ExampleTensor> tensors_ = test::example_tensors(3);
  const ShardIndex shard_;
};

TEST_F(ReadBack, TakesWhatWasWritten) { EXPECT_NO_THROW(read_back(folder_.path(), shard_)); }

TEST_F(ReadBack, NamesTheTensorOfAFlippedBit) {
  for (const ShardPiece& piece : shard_.pieces) {
    if (piece.file_begin == piece.file_end) continue;
    flip(piece.file_end - 1);
    EXPECT_NE(complaint().find("'" + piece.name + "'"), std::string::npos) << complaint();
    flip(piece.file_end - 1);
  }
}

TEST_F(ReadBack, RejectsAnotherHeaderOrSize) {
  flip(20);
  EXPECT_NE(complaint().find(file().string()), std::string::npos) << complaint();
  flip(20);
  fs::resize_file(file(), fs::file_size(file()) - 1);
  EXPECT_NE(complaint().find(file().string()), std::string::npos) << complaint();
  fs::remove(file());
  EXPECT_THROW(read_back(folder_.path(), shard_), FileError);
}

// As where a disk gives no more: a fault of the save, and no end of the run.
TEST_F(ReadBack, SaysWhereAFileEndsMeanwhile) {
  const std::string told = test::message_of<CheckpointError>(
      [this] { read_back(folder_.path(), shard_, [this] { fs::resize_file(file(), 100); }); });
  EXPECT_NE(told.find(file().string() + ": read back, it ends at byte "), std::string::npos)
      << told;
}

TEST_F(ReadBack, EndsWhereItIsToldTo) {
  EXPECT_THROW(read_back(folder_.path(), shard_, [] { throw std::runtime_error("the run ends"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace penstock::runtime
