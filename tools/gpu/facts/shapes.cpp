#include "tools/gpu/facts/facts.h"

namespace penstock::tools {
namespace {

using layers::Conv2dGeometry;
using layers::DType;

/// Returns the frames of 8 utterances, evenly from 4 to 8 s, at 100 per second.
std::vector<std::int64_t> bench_lengths() {
  std::vector<std::int64_t> lengths;
  for (std::int64_t u = 0; u < 8; ++u) lengths.push_back(400 + 400 * u / 7);
  return lengths;
}

/// Frames of 6 s, at 50 and at 12.5 per second.
constexpr std::int64_t kFrames = 300, kFewFrames = 75;

}  // namespace

std::vector<ConvolutionCase> convolutions_of_models() {
  const Conv2dGeometry first{.in_channels = 1,
                             .out_channels = 32,
                             .frequency = {41, 2, 20},
                             .time = {11, 2, 5},
                             .in_frequencies = 161,
                             .lengths = {}};
  const Conv2dGeometry second{.in_channels = 32,
                              .out_channels = 32,
                              .frequency = {21, 2, 10},
                              .time = {11, 1, 5},
                              .in_frequencies = first.out_frequencies(),
                              .lengths = {}};
  return {{"41x11 on 1", first, bench_lengths()},
          {"21x11 on 32", second, first.time.outputs(bench_lengths())}};
}

// The columns are name, format of operands and of the result, rows for each utterance, inner index,
// columns, matrices in a batch, and bias. A step of a recurrence has one row for each utterance and
// a matrix for each direction.
std::vector<ProductCase> products_of_models() {
  constexpr DType f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16;
  return {
      {"ds2-large.rnn1.input", f16, f16, kFrames, 1312, 8192, 1, true},
      {"ds2-large.rnn2.input", f16, f16, kFrames, 1024, 8192, 1, true},
      {"ds2-large.rnn.step", f16, f32, 1, 1024, 4096, 2, false},
      {"ds2-large.output", f16, f16, kFrames, 1024, 29, 1, false},
      {"omni-ctc-300m.inner", bf16, bf16, kFrames, 1024, 4096, 1, true},
      {"omni-ctc-300m.outer", bf16, bf16, kFrames, 4096, 1024, 1, true},
      {"omni-ctc-300m.qkv", bf16, bf16, kFrames, 1024, 3072, 1, true},
      {"omni-ctc-300m.attended", bf16, bf16, kFrames, 1024, 1024, 1, true},
      {"fastconformer-l.inner", bf16, bf16, kFewFrames, 512, 2048, 1, true},
      {"fastconformer-l.outer", bf16, bf16, kFewFrames, 2048, 512, 1, true},
      {"fastconformer-l.qkv", bf16, bf16, kFewFrames, 512, 1536, 1, true},
      {"fastconformer-l.attended", bf16, bf16, kFewFrames, 512, 512, 1, true},
  };
}

// The columns are format, heads, channels of a head, and relative positions.
std::vector<AttentionCase> attention_of_models() {
  constexpr DType bf16 = DType::bf16;
  return {
      {bf16, 16, 64, false}, {bf16, 16, 80, false}, {bf16, 16, 128, false}, {bf16, 8, 128, true}};
}

std::vector<std::int64_t> attention_lengths() { return {187, 300, 750, 1500}; }

RecurrenceCase recurrence_of_models() {
  return {
      .name = "ds2-large", .dtype = DType::f16, .hidden = 1024, .frames = 20, .more_frames = 100};
}

}  // namespace penstock::tools
