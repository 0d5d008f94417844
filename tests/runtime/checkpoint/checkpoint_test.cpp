#include "runtime/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "runtime/checkpoint/save.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;

// The complaint about a checkpoint, or "" if every byte is right.
std::string complaint(const fs::path& folder) {
  return message_of<Error>([&] { Checkpoint(folder).verify(); });
}

class CheckpointFaults : public testing::Test {
 protected:
  const TemporaryFolder output_;
  const fs::path folder_ = test::save_example(output_.path(), 10, 3);
  const std::vector<std::string> files_ = {"manifest.json", "stage-0.safetensors",
                                           "stage-1.safetensors", "stage-2.safetensors"};
};

TEST(Checkpoint, AnyPartitionReadsLikeAnyOther) {
  const auto tensors = test::example_tensors(7);
  for (const int writers : {1, 3, 5}) {
    const TemporaryFolder output;
    const Checkpoint checkpoint(test::save_example(output.path(), 7, writers));
    checkpoint.verify();
    EXPECT_EQ(checkpoint.state().step, 7);
    EXPECT_EQ(checkpoint.tensors().size(), tensors.size());
    for (const int readers : {1, 3, 5})
      for (int rank = 0; rank < readers; ++rank)
        for (const CheckpointPiece& piece : test::example_pieces(tensors, rank, readers)) {
          const auto* wanted = static_cast<const std::byte*>(piece.data);
          std::vector<std::byte> out(static_cast<std::size_t>(piece.end - piece.begin) *
                                     layers::size_of(piece.dtype));
          checkpoint.read(piece.name, piece.begin, piece.end, out);
          EXPECT_TRUE(std::equal(out.begin(), out.end(), wanted))
              << piece.name << " of " << writers << " writers, " << readers << " readers";
        }
  }
}

TEST_F(CheckpointFaults, WholeOneHasNone) { EXPECT_EQ(complaint(folder_), ""); }

TEST_F(CheckpointFaults, ReadsOnlyWhatIsThere) {
  const Checkpoint checkpoint(folder_);
  std::vector<std::byte> out(20);
  EXPECT_THROW(checkpoint.read("nothing", 0, 5, out), CheckpointError);
  EXPECT_THROW(checkpoint.read("conv1.weight", 0, 6, out), CheckpointError);
  EXPECT_THROW(checkpoint.read("conv1.weight", -1, 4, out), CheckpointError);
  EXPECT_THROW(checkpoint.read("conv1.weight", 381, 386, out), CheckpointError);
  EXPECT_NO_THROW(checkpoint.read("conv1.weight", 380, 385, out));
  const std::string message =
      message_of<CheckpointError>([&] { checkpoint.expect("scalar", layers::DType::f32, {5}); });
  EXPECT_NE(message.find("'scalar' is i64[], but the model expects f32[5]"), std::string::npos)
      << message;
}

TEST_F(CheckpointFaults, TruncationAtEveryPageIsNoticed) {
  for (const std::string& name : files_) {
    const std::string whole = read_file(folder_ / name);
    for (std::size_t page = 0; page <= whole.size(); page += 4096)
      for (const int off : {-1, 0, 1}) {
        const std::size_t size = page + static_cast<std::size_t>(off);
        if (size >= whole.size()) continue;
        write_file(folder_ / name, whole.substr(0, size));
        EXPECT_NE(complaint(folder_).find(name), std::string::npos) << name << " of " << size;
      }
    write_file(folder_ / name, whole);
  }
  EXPECT_EQ(complaint(folder_), "");
}

TEST_F(CheckpointFaults, FlippedBitsAreNoticed) {
  std::mt19937_64 random(5);
  for (const std::string& name : files_) {
    const std::string whole = read_file(folder_ / name);
    for (int i = 0; i < 400; ++i) {
      std::string damaged = whole;
      const std::size_t bit = random() % (8 * whole.size());
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      write_file(folder_ / name, damaged);
      EXPECT_NE(complaint(folder_).find(name), std::string::npos) << name << ", bit " << bit;
    }
    write_file(folder_ / name, whole);
  }
  EXPECT_EQ(complaint(folder_), "");
}

TEST_F(CheckpointFaults, MissingFilesAreNamed) {
  for (const std::string& name : files_) {
    fs::rename(folder_ / name, output_.path() / "away");
    EXPECT_NE(complaint(folder_).find(name), std::string::npos) << name;
    fs::rename(output_.path() / "away", folder_ / name);
  }
}

TEST_F(CheckpointFaults, SwappedAndStaleShardsAreNamed) {
  fs::rename(folder_ / files_[1], output_.path() / "away");
  fs::rename(folder_ / files_[2], folder_ / files_[1]);
  fs::rename(output_.path() / "away", folder_ / files_[2]);
  EXPECT_NE(complaint(folder_).find(files_[1]), std::string::npos);

  const fs::path whole = test::save_example(output_.path(), 20, 3);
  const fs::path other = test::save_example(output_.path(), 30, 3);
  fs::copy_file(other / files_[3], whole / files_[3], fs::copy_options::overwrite_existing);
  EXPECT_NE(complaint(whole).find(files_[3]), std::string::npos);  // equal but for the numbers
}

}  // namespace
}  // namespace penstock::runtime
