#include "layers/ops/recurrence.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "layers/backend.h"

namespace penstock::layers {
namespace {

constexpr std::int64_t kFrames = 70, kHidden = 3, kGated = 3 * kHidden;

/// A GRU of one direction over one utterance, in evaluation.
struct OneUtterance {
  std::vector<std::int64_t> lengths = {kFrames};
  std::vector<float> p = std::vector<float>(kFrames * kGated, 0.5f);
  std::vector<float> w = std::vector<float>(kGated * kHidden, 0.1f);
  std::vector<float> b = std::vector<float>(kGated, 0.0f);
  std::vector<float> y = std::vector<float>(kFrames * kHidden);
  RecurrenceShape shape{RecurrenceKind::gru, 1, kHidden, lengths};

  RecurrenceForward forward(std::span<std::byte> workspace) {
    return {.shape = shape,
            .p_FP = {p.data(), DType::f32, {kFrames, kGated}},
            .w_DGH = {w.data(), DType::f32, {1, kGated, kHidden}},
            .b_DG = {b.data(), DType::f32, {1, kGated}},
            .y_FH = {y.data(), DType::f32, {kFrames, kHidden}},
            .kept = {},
            .workspace = workspace};
  }
};

TEST(CpuRecurrenceTest, MovesMessagesDuringLongUtterances) {
  OneUtterance utterance;
  const auto backend = make_cpu_backend(1);
  int polls = 0;
  const auto stream = backend->make_stream([&] { ++polls; });
  const Buffer workspace = host_buffer(recurrence_workspace({}, utterance.shape).forward);
  backend->run(*stream, utterance.forward({workspace.data(), workspace.bytes()}));
  EXPECT_GE(polls, 4);
  EXPECT_LE(polls, kFrames / 8);
}

TEST(CpuRecurrenceTest, RejectsAWorkspaceThatIsTooSmall) {
  OneUtterance utterance;
  const auto backend = make_cpu_backend(1);
  const auto stream = backend->make_stream();
  const Buffer workspace = host_buffer(64);
  EXPECT_THROW(backend->run(*stream, utterance.forward({workspace.data(), 64})), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
