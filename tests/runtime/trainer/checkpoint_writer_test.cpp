#include "runtime/trainer/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <thread>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/threads.h"
#include "layers/cpu/halves/half_backend.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/output_folder.h"
#include "tests/support/system/file_size_limit.h"
#include "tests/support/system/small_disk.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

/// A rank of two stages.
struct Place {
  comm::Communicator& world;
  ParameterStore& store;
  const Saving& saving;

  void fill(float value) const {
    for (const partition::ParameterPiece& piece : store.owned()) {
      const layers::Tensor weight = store.weight(piece);
      std::fill_n(weight.as<float>(), piece.count, value + static_cast<float>(piece.parameter));
    }
  }
  bool holds(const Checkpoint& checkpoint, float value) const {
    for (const partition::ParameterPiece& piece : store.owned()) {
      const std::string& name = store.parameters()[piece.parameter].decl.name;
      std::vector<float> found(static_cast<std::size_t>(piece.count));
      checkpoint.read(name, 0, piece.count, std::as_writable_bytes(std::span(found)));
      for (const float each : found)
        if (each != value + static_cast<float>(piece.parameter)) return false;
    }
    return true;
  }
};

/// Gives no memory of the host, if told so.
class PoorBackend final : public layers::HalfCpuBackend {
 public:
  explicit PoorBackend(bool poor) : layers::HalfCpuBackend(1), poor_(poor) {}
  layers::Buffer allocate_host(std::size_t bytes) override {
    if (poor_) throw DeviceError("no memory is left");
    return layers::HalfCpuBackend::allocate_host(bytes);
  }

 private:
  bool poor_;
};

void on_two_stages(const std::function<void(const Place&)>& body, int poor_rank = -1) {
  comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
    PoorBackend backend(world.rank() == poor_rank);
    const auto stream = backend.make_stream({});
    partition::Plan plan;
    plan.ranks = partition::neighbouring_stages(2, 1);
    const RankGrid grid(world, plan);
    const partition::LayerSequence sequence = partition::build_model(
        {.features = 41,
         .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 37, .layers = 1}},
        7);
    StageOptions options;
    options.stage = grid.here().stage;
    options.schedule = partition::RunSchedule("1f1b", 2);
    options.cut = {0, 3, sequence.size()};
    Stage stage(backend, *stream, grid.pipeline(), sequence, options);
    const Saving saving(backend, *stream, grid, stage, {{"m", "v"}, {}});
    body({world, stage.parameters(), saving});
  });
}

TrainingState state_of(std::int64_t step) {
  TrainingState state;
  state.step = step;
  return state;
}

/// Returns what all ranks hear at the end of a step: the sums of their notices.
Notices exchange(const CheckpointWriter& writer, comm::Communicator& world) {
  Notices own;
  writer.tell(own);
  std::array<double, Notices::kCount> counts{};
  own.put(counts);
  comm::sum_disjoint(world, counts);
  return Notices::of(counts);
}

class Writer : public testing::Test {
 protected:
  CheckpointWriter::Options options(int keep = 9) const {
    return {.output = output_.path(), .keep = keep, .pauses = {}};
  }
  /// Returns the outcome of a save, for which it waits.
  SaveOutcome save(std::int64_t step, const CheckpointWriter::Options& options,
                   const std::optional<BestCheckpoint>& best = {}, bool beside = true) const {
    std::array<SaveOutcome, 2> outcomes;
    on_two_stages([&](const Place& here) {
      CheckpointWriter writer(here.saving, options);
      if (beside) {
        EXPECT_EQ(writer.write_beside(), "");
      }
      writer.begin(state_of(step), best);
      outcomes.at(static_cast<std::size_t>(here.world.rank())) = *writer.wait();
      EXPECT_FALSE(writer.busy());
    });
    EXPECT_EQ(outcomes[0].folder, outcomes[1].folder);
    EXPECT_EQ(outcomes[0].fault, outcomes[1].fault);
    EXPECT_EQ(outcomes[1].step, step);
    return outcomes[0];
  }
  std::vector<std::int64_t> stored() const { return stored(output_.path()); }
  static std::vector<std::int64_t> stored(const fs::path& output) {
    std::vector<std::int64_t> steps;
    for (const StoredCheckpoint& each : list_checkpoints(output)) steps.push_back(each.step);
    return steps;
  }

  const test::TemporaryFolder output_;
};

TEST_F(Writer, SavesTheStateThatTrainingChangesMeanwhile) {
  on_two_stages([&](const Place& here) {
    CheckpointWriter writer(here.saving, options());
    EXPECT_EQ(writer.write_beside(), "");
    EXPECT_TRUE(writer.beside());
    for (const std::int64_t step : {10, 20}) {
      here.fill(static_cast<float>(step));
      writer.begin(state_of(step));
      here.fill(-1);
      std::optional<SaveOutcome> outcome;
      while (!outcome) {
        EXPECT_TRUE(writer.busy());
        outcome = writer.hear(exchange(writer, here.world));
        std::this_thread::yield();
      }
      EXPECT_FALSE(writer.busy());
      EXPECT_EQ(outcome->fault, "");
      EXPECT_EQ(outcome->aside, "");
      EXPECT_EQ(outcome->step, step);
      EXPECT_EQ(outcome->folder, output_.path() / checkpoint_name(step));
      const Checkpoint saved(outcome->folder);
      EXPECT_NO_THROW(saved.verify());
      EXPECT_TRUE(here.holds(saved, static_cast<float>(step)));
      EXPECT_EQ(saved.shard_count(), 2u);
    }
  });
}

TEST_F(Writer, WritesBehindBeginWhereARankLacksMemory) {
  on_two_stages(
      [&](const Place& here) {
        CheckpointWriter writer(here.saving, options());
        EXPECT_EQ(writer.write_beside(), "rank 1: no memory is left");
        EXPECT_FALSE(writer.beside());
        here.fill(3);
        writer.begin(state_of(1));
        here.fill(-1);
        EXPECT_EQ(exchange(writer, here.world).written, 2);
        EXPECT_TRUE(here.holds(Checkpoint(writer.wait()->folder), 3));
      },
      1);
}

TEST_F(Writer, TellsAllOfOneRanksFault) {
  std::array<std::size_t, 2> bytes{};
  on_two_stages([&](const Place& here) {
    bytes.at(static_cast<std::size_t>(here.world.rank())) = bytes_of(here.saving.pieces());
  });
  ASSERT_GT(bytes[1], 2 * bytes[0]);
  for (const bool beside : {true, false}) {
    EXPECT_EQ(save(1, options(), {}, beside).fault, "");
    {
      const test::FileSizeLimit full((bytes[0] + bytes[1]) / 2);
      const SaveOutcome outcome = save(2, options(), {}, beside);
      EXPECT_TRUE(outcome.fault.starts_with("rank 1: ")) << outcome.fault;
      EXPECT_NE(outcome.fault.find("stage-1.safetensors"), std::string::npos) << outcome.fault;
      EXPECT_EQ(outcome.folder, "");
    }
    EXPECT_EQ(stored(), std::vector<std::int64_t>{1});
    EXPECT_EQ(std::distance(fs::directory_iterator(output_.path()), {}), 2);  // and LATEST
    EXPECT_NO_THROW(Checkpoint(output_.path() / checkpoint_name(1)).verify());
  }
  EXPECT_EQ(save(3, options()).fault, "");
  EXPECT_EQ(stored(), (std::vector<std::int64_t>{1, 3}));
}

/// Returns the bytes of all files in a folder.
std::size_t bytes_in(const fs::path& folder) {
  std::size_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

TEST_F(Writer, MakesRoomByTheOldest) {
  ASSERT_EQ(save(1, options()).fault, "");
  const std::size_t bytes = bytes_in(output_.path());
  for (const bool beside : {true, false}) {
    const test::SmallDisk disk(bytes * 5 / 2);
    if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted here";
    CheckpointWriter::Options small = options();
    small.output = disk.path() / "run";
    const auto expect_stored = [&](const std::vector<std::int64_t>& steps) {
      EXPECT_EQ(stored(small.output), steps);
      for (const std::int64_t step : steps)
        EXPECT_NO_THROW(Checkpoint(small.output / checkpoint_name(step)).verify());
    };
    for (const std::int64_t step : {1, 2, 3, 4}) EXPECT_EQ(save(step, small, {}, beside).fault, "");
    expect_stored({3, 4});
    const auto fill = [&](const char* name) {
      test::write_file(disk.path() / name, std::string(bytes * 2 / 5, 'x'));
    };
    fill("others");
    EXPECT_EQ(save(5, small, {}, beside).fault, "");
    expect_stored({4, 5});
    fs::remove_all(small.output / checkpoint_name(4));
    fill("more");
    const SaveOutcome outcome = save(6, small, {}, beside);  // nothing may go for it
    EXPECT_NE(outcome.fault.find("No space left on device"), std::string::npos) << outcome.fault;
    expect_stored({5});
  }
}

TEST_F(Writer, TellsWhereTheFolderCannotBeMade) {
  CheckpointWriter::Options nowhere = options();
  nowhere.output /= "file";
  test::write_file(nowhere.output, "");
  const SaveOutcome outcome = save(4, nowhere);
  EXPECT_NE(outcome.fault.find("a save can't begin"), std::string::npos) << outcome.fault;
  EXPECT_EQ(test::read_file(nowhere.output), "");
}

TEST_F(Writer, MarksTheBestAndRemovesOldOnes) {
  const CheckpointWriter::Options one = options(1);
  EXPECT_EQ(save(1, one, BestCheckpoint{1, "wer", 0.5}).fault, "");
  EXPECT_EQ(save(2, one).fault, "");
  EXPECT_EQ(save(3, one).fault, "");
  EXPECT_EQ(stored(), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(best_checkpoint(output_.path())->step, 1);
  EXPECT_EQ(save(4, one, BestCheckpoint{4, "wer", 0.25}).fault, "");
  EXPECT_EQ(stored(), std::vector<std::int64_t>{4});
  EXPECT_EQ(best_checkpoint(output_.path())->value, 0.25);
}

/// The mark of the best is made up for, before old ones are removed.
TEST_F(Writer, MarksTheBestOnceItCan) {
  on_two_stages([&](const Place& here) {
    CheckpointWriter writer(here.saving, options(1));
    const auto save_best = [&](std::int64_t step, const std::optional<BestCheckpoint>& best) {
      writer.begin(state_of(step), best);
      return *writer.wait();
    };
    const fs::path in_the_way = output_.path() / "LATEST";  // a folder can't be replaced by a file
    if (here.world.rank() == 0) fs::create_directories(in_the_way / "full");
    const SaveOutcome first = save_best(1, BestCheckpoint{1, "wer", 0.5});
    EXPECT_EQ(first.fault, "");
    EXPECT_EQ(first.folder, output_.path() / checkpoint_name(1));
    if (here.world.rank() == 0) {
      EXPECT_NE(first.aside.find("LATEST"), std::string::npos) << first.aside;
      EXPECT_FALSE(best_checkpoint(output_.path()));
      fs::remove_all(in_the_way);
    }
    for (const std::int64_t step : {2, 3}) EXPECT_EQ(save_best(step, {}).aside, "");
  });
  EXPECT_EQ(best_checkpoint(output_.path())->step, 1);
  EXPECT_EQ(stored(), (std::vector<std::int64_t>{1, 3}));
}

TEST_F(Writer, TakesAFolderOfAnyName) {
  const fs::path here = fs::current_path();
  fs::current_path(output_.path());
  CheckpointWriter::Options odd = options();
  odd.output = "!runs";
  EXPECT_EQ(save(1, odd).fault, "");
  fs::current_path(here);
  EXPECT_TRUE(fs::exists(output_.path() / "!runs" / checkpoint_name(1)));
}

TEST_F(Writer, IsWholeWhateverFailsBehindIt) {
  const CheckpointWriter::Options one = options(1);
  EXPECT_EQ(save(1, one).aside, "");
  test::write_file(output_.path() / "BEST", "no JSON");
  const SaveOutcome outcome = save(2, one);
  EXPECT_EQ(outcome.fault, "");
  EXPECT_EQ(outcome.folder, output_.path() / checkpoint_name(2));
  EXPECT_NE(outcome.aside.find("BEST"), std::string::npos) << outcome.aside;
  EXPECT_EQ(stored(), (std::vector<std::int64_t>{1, 2}));
}

}  // namespace
}  // namespace penstock::runtime
