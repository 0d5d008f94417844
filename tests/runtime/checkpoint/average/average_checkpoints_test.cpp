#include "runtime/checkpoint/average/average_checkpoints.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/error.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/save.h"
#include "tests/support/runtime/read_tensor.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using Floats = std::vector<float>;
using Tensors = std::map<std::string, Floats>;

Floats draw(std::mt19937_64& random, std::size_t count) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats floats(count);
  for (float& x : floats) x = uniform(random) * std::exp2(uniform(random) * 20);
  return floats;
}

/// Checkpoints of a weight that takes more than one part, a statistic, and an optimizer slot.
class AverageCheckpoints : public testing::Test {
 protected:
  static Tensors drawn(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    return {{"conv.weight", draw(random, (1 << 20) + 77)},
            {"norm.running_mean", draw(random, 13)},
            {"optimizer.mean/conv.weight", draw(random, 3)}};
  }

  /// Saves a checkpoint. `change` may alter its state.
  fs::path save(
      const std::string& run, std::int64_t step, const Tensors& tensors,
      const std::function<void(TrainingState&)>& change = [](TrainingState&) {}) const {
    const fs::path folder = start_save(in(run), step);
    std::vector<CheckpointPiece> pieces;
    for (const auto& [name, floats] : tensors)
      pieces.push_back(
          {name, layers::DType::f32, {std::ssize(floats)}, 0, std::ssize(floats), floats.data()});
    TrainingState state;
    state.step = step;
    state.config["text.alphabet"] = "\" abc\"";
    state.best_metric = "wer";
    state.early_stopping = EarlyStoppingRecord{.metric = "wer"};
    change(state);
    return commit(folder, state, {write_shard(folder, "stage-0", pieces)}, "",
                  {.files = {{"huggingface/config.json", run}}, .tensors = {}});
  }

  std::string refusal(const std::vector<fs::path>& checkpoints) const {
    std::string said =
        test::message_of<CheckpointError>([&] { average_checkpoints(checkpoints, in("mean")); });
    EXPECT_FALSE(fs::exists(in("mean")) || fs::exists(in("mean.partial")));
    return said;
  }

  fs::path in(const std::string& name) const { return folder_.path() / name; }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(AverageCheckpoints, AreTheMeanInFp64RoundedOnce) {
  const std::vector<Tensors> tensors = {drawn(1), drawn(2), drawn(3)};
  std::vector<fs::path> folders;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    folders.push_back(save("run", 10 * (static_cast<std::int64_t>(i) + 1), tensors[i]));
  const AverageReport report = average_checkpoints(folders, in("mean"));
  EXPECT_EQ(report.parameters, (1 << 20) + 77 + 13);
  const Checkpoint mean(in("mean"));
  mean.verify();
  EXPECT_FALSE(mean.contains("optimizer.mean/conv.weight"));
  for (const std::string name : {"conv.weight", "norm.running_mean"}) {
    const Floats got = test::read_tensor(mean, name);
    ASSERT_EQ(got.size(), tensors[0].at(name).size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double sum = static_cast<double>(tensors[0].at(name)[i]) + tensors[1].at(name)[i] +
                         tensors[2].at(name)[i];
      ASSERT_EQ(got[i], static_cast<float>(sum / 3)) << name << i;
    }
  }
}

TEST_F(AverageCheckpoints, DoNotDependOnTheirOrder) {
  const fs::path a = save("a", 10, drawn(1)), b = save("b", 20, drawn(2)),
                 c = save("c", 15, drawn(3));
  average_checkpoints({a, b, c}, in("one"));
  average_checkpoints({in("c"), b, a}, in("two"));
  EXPECT_EQ(test::read_file(in("one") / "stage-0.safetensors"),
            test::read_file(in("two") / "stage-0.safetensors"));
  const Checkpoint mean(in("two"));
  const std::vector<AveragedCheckpoint> averaged = {
      {10, a.string()}, {15, c.string()}, {20, b.string()}};
  EXPECT_EQ(mean.state().averaged, averaged);
  EXPECT_EQ(mean.state().step, 20);
  EXPECT_EQ(mean.state().best_metric, "");
  EXPECT_FALSE(mean.state().early_stopping);
  EXPECT_EQ(test::read_file(in("two") / "huggingface/config.json"), "b");
}

TEST_F(AverageCheckpoints, NameTheFirstDifferenceOfTensors) {
  const fs::path whole = save("whole", 10, drawn(1));
  Tensors more = drawn(2), less = drawn(2), longer = drawn(2);
  more["bias"] = {1, 2};
  less.erase("norm.running_mean");
  longer["norm.running_mean"].push_back(1);
  for (const auto& [tensors, difference] :
       std::vector<std::pair<Tensors, std::string>>{{more, "the latter has no 'bias'"},
                                                    {less, "the former has no 'norm.running_mean'"},
                                                    {longer, "'norm.running_mean' is [14] in"}}) {
    const std::string said = refusal({whole, save("other", 20, tensors)});
    EXPECT_NE(said.find(difference), std::string::npos) << said;
  }
}

TEST_F(AverageCheckpoints, NameADifferenceOfLabels) {
  const fs::path abc = save("abc", 10, drawn(1)), abd = save("abd", 20, drawn(2), [](auto&state) {
                                                    state.config["text.alphabet"] = "\" abd\"";
                                                  });
  const std::string said = refusal({abc, abd});
  EXPECT_NE(said.find("text.alphabet is \" abd\" in the former and \" abc\" in the latter"),
            std::string::npos)
      << said;
}

TEST_F(AverageCheckpoints, RefuseDamageRepetitionAndInfinity) {
  const fs::path a = save("a", 10, drawn(1)), b = save("b", 20, drawn(2));
  EXPECT_NE(refusal({a, b, in("a")}).find("named twice"), std::string::npos);
  EXPECT_THROW(average_checkpoints({a}, in("mean")), ConfigError);
  EXPECT_THROW(average_checkpoints({a, b}, b / "mean"), CheckpointError);
  Tensors infinite = drawn(3);
  infinite["norm.running_mean"][7] = INFINITY;
  EXPECT_NE(refusal({a, save("c", 30, infinite)}).find("'norm.running_mean' holds inf"),
            std::string::npos);
  std::string bytes = test::read_file(a / "stage-0.safetensors");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  test::write_file(a / "stage-0.safetensors", bytes);
  EXPECT_NE(refusal({a, b}).find("does not have its hash"), std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
