#include "layers/models/intermediate_ctc_units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "layers/losses/ctc.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/linear.h"
#include "tests/layers/losses/labels.h"
#include "tests/support/layers/gradient_check.h"
#include "tests/support/layers/sequence_runner.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;
using test::numbers;
using test::relative_error;

using Sequence = std::vector<std::unique_ptr<Layer>>;

std::unique_ptr<Layer> unit_after(const IntermediateLosses& losses, const EncoderBlock& block) {
  Sequence sequence;
  add_intermediate_loss(sequence, losses, block);
  return sequence.empty() ? nullptr : std::move(sequence.front());
}

std::vector<std::string> names_of_parameters(const Layer& layer, std::int64_t width) {
  std::vector<std::string> names;
  for (const ParamDecl& param : layer.plan({DType::f32, {{{3}, width}}}, {}).params)
    names.push_back(param.name);
  return names;
}

// The golden unit conditions, and a product and a CTC loss follow it.
TEST(IntermediateCtcUnits, AgreeWithPyTorch) {
  const Golden golden("intermediate_ctc");
  Sequence sequence;
  sequence.push_back(std::make_unique<Scale>("before", 1));
  sequence.push_back(unit_after({.blocks = {3}, .weight = 0.375, .conditions = true},
                                {.number = 3, .width = 6, .classes = 5}));
  sequence.push_back(std::make_unique<Linear>(LinearOptions{.name = "final", .in = 6, .out = 5}));
  sequence.push_back(std::make_unique<Ctc>("ctc"));
  Labels labels(labels_of(golden), 1);
  test::SequenceRunner runner(
      sequence, {DType::f64, {{golden.integers("lengths"), 6}}, labels.counts()}, labels.targets);
  const auto theirs = [](const std::string& name) {
    return name.starts_with("final") ? name : "unit" + name.substr(name.find("_ctc.") + 4);
  };
  golden.copy("x", runner.layers().front()->input().only().x_FC);
  for (const auto& layer : runner.layers())
    for (std::size_t i = 0; i < layer->params().size(); ++i)
      golden.copy(theirs(layer->plan().params[i].name), layer->params()[i]);
  runner.forward();
  runner.backward();
  EXPECT_LE(golden.error(runner.layers()[1]->output().only().x_FC, "y"), 1e-7);
  EXPECT_LE(relative_error(labels.losses, golden["losses"]), 1e-7);
  EXPECT_LE(golden.error(runner.layers()[1]->input_gradient().only().x_FC, "dx"), 1e-6);
  for (const auto& layer : runner.layers())
    for (std::size_t i = 0; i < layer->params().size(); ++i) {
      const std::string& name = layer->plan().params[i].name;
      EXPECT_LE(golden.error(layer->grads()[i], "d" + theirs(name)), 1e-6) << name;
    }
}

TEST(IntermediateCtcUnits, HaveTheGradientsOfFiniteDifferences) {
  for (const bool conditions : {false, true}) {
    const auto unit = unit_after({{1, 2}, 0.75, conditions}, {2, 6, 4});
    Labels labels({{1, 2, 2, 1}, {}, {3, 1, 2}}, 0.5);
    LayerRunner runner(*unit, {DType::f64, {{{7, 1, 5}, 6}}, labels.counts()});
    runner.targets = &labels.targets;
    runner.randomise(7);
    check_gradients(runner);
  }
}

TEST(IntermediateCtcUnits, PassTheirInputOnUnlessTheyCondition) {
  const auto unit = unit_after({{2}}, {2, 6, 4});
  LayerRunner runner(*unit, {DType::f32, {{{7, 1}, 6}}});
  runner.mode = Mode::evaluate;
  runner.randomise(7);
  runner.forward();
  // Without the parts, NaN in their parameters reaches no output.
  for (const Tensor& param : runner.params())
    test::assign(param, std::vector<double>(static_cast<std::size_t>(param.size()), NAN));
  runner.forward();
  EXPECT_EQ(numbers(runner.output().only().x_FC), numbers(runner.input().only().x_FC));
}

TEST(IntermediateCtcUnits, ShareTheWeightAmongBlocks) {
  const auto loss = [](std::vector<int> blocks) {
    const auto unit = unit_after({std::move(blocks), 0.75}, {2, 6, 4});
    Labels labels({{1, 2}}, 1);
    LayerRunner runner(*unit, {DType::f64, {{{7}, 6}}, labels.counts()});
    runner.targets = &labels.targets;
    runner.randomise(7);
    runner.forward();
    return labels.losses.front();
  };
  EXPECT_DOUBLE_EQ(loss({2}), 3 * loss({1, 2, 5}));
}

TEST(IntermediateCtcUnits, HaveTheWorkOfKnownLabels) {
  const auto unit = unit_after({{2}}, {2, 6, 4});
  const auto flops = [&](std::int64_t labels) {
    return unit->plan({DType::f32, {{{100}, 6}}, {labels}}, {}).flops.forward;
  };
  EXPECT_LT(flops(1), flops(50));
}

TEST(IntermediateCtcUnits, FollowTheirBlocksAlone) {
  EXPECT_EQ(unit_after({}, {2, 6, 4}), nullptr);
  EXPECT_EQ(unit_after({{1, 3}}, {2, 6, 4}), nullptr);
  EXPECT_EQ(names_of_parameters(*unit_after({{1, 3}}, {3, 6, 4}), 6),
            (std::vector<std::string>{
                "block3.intermediate_ctc.norm.weight", "block3.intermediate_ctc.norm.bias",
                "block3.intermediate_ctc.output.weight", "block3.intermediate_ctc.output.bias"}));
}

TEST(IntermediateCtcUnits, HaveParametersForTrainingAloneUnlessTheyCondition) {
  for (const bool conditions : {false, true})
    for (const std::string& name :
         names_of_parameters(*unit_after({{3}, 0.5, conditions}, {3, 6, 4}), 6)) {
      EXPECT_EQ(is_unused_in_evaluation(name), !conditions) << name;
      EXPECT_TRUE(is_intermediate_parameter(name)) << name;
    }
  EXPECT_FALSE(is_intermediate_parameter("block3.attention.qkv.weight"));
}

TEST(IntermediateCtcUnits, NameContradictions) {
  const auto what = [](const IntermediateLosses& losses) {
    std::string all;
    for (const Contradiction& found : intermediate_loss_contradictions(losses, 4))
      all += std::string(found.key) + ": " + found.what + "\n";
    return all;
  };
  EXPECT_EQ(what({}), "");
  EXPECT_EQ(what({{1, 3}, 0, true}), "");
  EXPECT_EQ(what({{3, 1}}),
            "model.intermediate_ctc: blocks of model.intermediate_ctc must ascend, such as [3, "
            "6]\n");
  EXPECT_EQ(what({{2, 2}}), what({{3, 1}}));
  EXPECT_EQ(what({{2, 4}}),
            "model.intermediate_ctc: a loss follows block 4, and the model has 4 blocks, the last "
            "of which has the model's loss: name blocks before it\n");
  EXPECT_EQ(what({{}, 0.5, true}),
            "model.self_conditioned_ctc: no block has a CTC loss to condition on: name some in "
            "model.intermediate_ctc\n");
}

}  // namespace
}  // namespace penstock::layers
