#include "layers/ops/attention.h"

#include <numeric>
#include <span>

#include "base/error.h"
#include "layers/ops/positions.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

const std::vector<std::int64_t> kShort = {7, 1, 33, 5};
const std::vector<std::int64_t> kLong = {65, 1, 130, 7};  // several tiles of each kind of kernel
const std::vector<std::uint64_t> kUtterances = {4, 8, 15, 16};

struct Kind {
  bool relative = false;
  double rotary_base = 0;
  std::int64_t left = kWholeUtterance, right = kWholeUtterance;
  double dropout = 0;
  std::int64_t width = 37;  // of a head: more than a tile of channels, and no multiple of one
  std::int64_t heads = 3;
  std::int64_t kv_heads = 0;
  const std::vector<std::int64_t>& lengths = kShort;
  std::vector<std::int64_t> key_lengths = {};  // of cross-attention

  std::int64_t frames() const { return std::reduce(lengths.begin(), lengths.end()); }
  std::int64_t channels() const { return heads * width; }
};
const Kind kKinds[] = {{},
                       {.rotary_base = 100, .width = 38},
                       {.relative = true, .left = 9, .right = 3},
                       {.relative = true, .width = 128},
                       {.relative = true},
                       {.left = 9, .right = 3},
                       {.relative = true, .right = 0},
                       {.relative = true, .dropout = 0.3},
                       {.rotary_base = 100, .right = 0, .width = 22, .heads = 6, .kv_heads = 2},
                       {.dropout = 0.3, .kv_heads = 1}};
const Kind kWideKinds[] = {
    {.width = 129, .heads = 2},
    {.rotary_base = 100, .right = 0, .width = 134, .heads = 4, .kv_heads = 2},
    {.left = 9, .right = 3, .dropout = 0.3, .width = 144, .heads = 2, .kv_heads = 1},
    {.rotary_base = 100, .width = 512, .heads = 1},
    {.rotary_base = 100, .right = 0, .width = 130, .heads = 2, .kv_heads = 1, .lengths = kLong},
    {.left = 40, .right = 20, .dropout = 0.3, .width = 136, .heads = 1, .lengths = kLong}};
const Kind kCrossKinds[] = {
    {.key_lengths = {5, 40, 1, 130}},
    {.width = 64, .heads = 4, .kv_heads = 2, .key_lengths = {1, 7, 65, 33}},
    {.dropout = 0.3, .width = 130, .heads = 2, .lengths = kLong, .key_lengths = {90, 3, 5, 12}}};
const Kind kLongKinds[] = {
    {.width = 8, .heads = 2, .kv_heads = 1, .lengths = kLong},
    {.rotary_base = 100, .width = 80, .heads = 2, .lengths = kLong},
    {.relative = true, .left = 40, .right = 20, .width = 64, .heads = 2, .lengths = kLong},
    {.relative = true, .dropout = 0.3, .width = 36, .heads = 1, .lengths = kLong},
    {.relative = true, .width = 128, .heads = 1, .lengths = kLong}};

class CudaAttention : public Parity {
 protected:
  struct Operands {
    Twin qkv, kv, r, u, v, y, log_sums;
  };

  static AttentionGeometry geometry(const Kind& kind) {
    return {.heads = kind.heads,
            .channels = kind.channels(),
            .kv_heads = kind.kv_heads,
            .left = kind.left,
            .right = kind.right,
            .rotary_base = kind.rotary_base,
            .lengths = kind.lengths,
            .key_lengths = kind.key_lengths};
  }
  static Shape shape_of_keys(const Kind& kind) {
    return {std::reduce(kind.key_lengths.begin(), kind.key_lengths.end()),
            2 * geometry(kind).key_channels()};
  }
  static Shape shape_of_queries(const Kind& kind) {
    return {kind.frames(), kind.key_lengths.empty() ? geometry(kind).columns() : kind.channels()};
  }
  Operands operands(const Kind& kind) {
    const AttentionGeometry shape = geometry(kind);
    const std::int64_t C = shape.channels, frames = kind.frames();
    Operands made;
    made.qkv = random(dtype(), shape_of_queries(kind), -2, 2);
    if (shape.cross()) made.kv = random(dtype(), shape_of_keys(kind), -2, 2);
    if (kind.relative) {
      made.r = random(dtype(), {shape.distances(), C}, -2, 2);
      made.u = random(DType::f32, {C});
      made.v = random(DType::f32, {C});
    }
    made.y = unwritten(dtype(), {frames, C});
    made.log_sums = unwritten(DType::f32, {shape.heads, frames});
    return made;
  }
  static DropoutMask mask(const Kind& kind) {
    return {.random = {.seed = 3, .epoch = 1, .utterances = kUtterances},
            .layer = 77,
            .lengths = kind.lengths,
            .probability = kind.dropout};
  }

  /// FP32's tiles are small: short utterances have several.
  std::span<const Kind> long_kinds() const {
    return std::span(kLongKinds).first(dtype() == DType::f32 ? 1 : std::size(kLongKinds));
  }

  void run_forward(const Kind& kind, const Operands& of) {
    const Workspace cpu = attention_workspace({}, geometry(kind), kind.relative);
    const Workspace cuda =
        attention_workspace({DeviceKind::cuda, dtype()}, geometry(kind), kind.relative);
    const auto on = [&](auto side, std::span<std::byte> workspace) {
      return AttentionForward{.geometry = geometry(kind),
                              .qkv_FP = of.qkv.*side,
                              .kv_MP = of.kv.*side,
                              .relative = {of.r.*side, of.u.*side, of.v.*side},
                              .dropout = mask(kind),
                              .y_FC = of.y.*side,
                              .log_sums_HF = of.log_sums.*side,
                              .workspace = workspace};
    };
    run(on(&Twin::cpu, host_memory(cpu.forward)), on(&Twin::cuda, device_memory(cuda.forward)));
  }

  // Halves are rounded where tensor cores take them: turned q and k, weights, and gradients of
  // scores. An error of half a unit in each of the four rounds y by 4 tolerance() at most, since y
  // of an utterance of one frame is as large as v.
  void expect_forward(const Kind& kind) {
    const Operands of = operands(kind);
    run_forward(kind, of);
    expect_close(of.y, 4 * tolerance(), "y");
    expect_close(of.log_sums, kind.rotary_base == 0 ? 1e-5 : 4 * tolerance(), "log sums");
  }

  // No operand of du and dv is rounded. dr is a sum of many rounded gradients of scores, whose
  // errors have either sign.
  void expect_backward(const Kind& kind) {
    const AttentionGeometry shape = geometry(kind);
    const std::int64_t C = shape.channels;
    const Operands of = operands(kind);
    run_forward(kind, of);
    // Both read one y: rounded, where dtype() is a half.
    const Twin y = twin(dtype(), {kind.frames(), C}, test::numbers(of.y.cpu));
    const Twin dy = random(dtype(), {kind.frames(), C}),
               dqkv = unwritten(dtype(), shape_of_queries(kind));
    const Twin dkv = shape.cross() ? unwritten(dtype(), shape_of_keys(kind)) : Twin{};
    const Twin dr = kind.relative ? unwritten(DType::f32, {shape.distances(), C}) : Twin{};
    const Twin du = kind.relative ? unwritten(DType::f32, {C}) : Twin{};
    const Twin dv = kind.relative ? unwritten(DType::f32, {C}) : Twin{};
    const Workspace cpu = attention_workspace({}, shape, kind.relative);
    const Workspace cuda = attention_workspace({DeviceKind::cuda, dtype()}, shape, kind.relative);
    const auto on = [&](auto side, std::span<std::byte> workspace) {
      return AttentionBackward{.geometry = shape,
                               .qkv_FP = of.qkv.*side,
                               .kv_MP = of.kv.*side,
                               .relative = {of.r.*side, of.u.*side, of.v.*side},
                               .dropout = mask(kind),
                               .y_FC = y.*side,
                               .log_sums_HF = of.log_sums.*side,
                               .dy_FC = dy.*side,
                               .dqkv_FP = dqkv.*side,
                               .dkv_MP = dkv.*side,
                               .dr_XC = dr.*side,
                               .du_C = du.*side,
                               .dv_C = dv.*side,
                               .workspace = workspace};
    };
    run(on(&Twin::cpu, host_memory(cpu.backward_input)),
        on(&Twin::cuda, device_memory(cuda.backward_input)));
    expect_close(dqkv, 4 * tolerance(), "dqkv");
    if (shape.cross()) expect_close(dkv, 4 * tolerance(), "dkv");
    if (!kind.relative) return;
    expect_close(dr, tolerance(), "dr");
    expect_close(du, 1e-5, "du");
    expect_close(dv, 1e-5, "dv");
  }
};

TEST_P(CudaAttention, Forward) {
  for (const Kind& kind : kKinds) expect_forward(kind);
}

TEST_P(CudaAttention, ForwardOfLongUtterances) {
  for (const Kind& kind : long_kinds()) expect_forward(kind);
}

TEST_P(CudaAttention, Backward) {
  for (const Kind& kind : kKinds) expect_backward(kind);
}

TEST_P(CudaAttention, BackwardOfLongUtterances) {
  for (const Kind& kind : long_kinds()) expect_backward(kind);
}

TEST_P(CudaAttention, CrossForward) {
  for (const Kind& kind : kCrossKinds) expect_forward(kind);
}

TEST_P(CudaAttention, CrossBackward) {
  for (const Kind& kind : kCrossKinds) expect_backward(kind);
}

TEST_P(CudaAttention, ForwardOfWideHeads) {
  for (const Kind& kind : kWideKinds) expect_forward(kind);
}

TEST_P(CudaAttention, BackwardOfWideHeads) {
  for (const Kind& kind : kWideKinds) expect_backward(kind);
}

TEST_P(CudaAttention, PositionTable) {
  for (const auto& [first, step] : {std::pair<std::int64_t, std::int64_t>{32, -1}, {0, 1}}) {
    const Twin table = unwritten(dtype(), {2 * 33 - 1, 31});
    run(PositionTable{table.cpu, first, step}, PositionTable{table.cuda, first, step});
    expect_close(table, tolerance(), "table");
  }
  for (const SinusoidOrder order : {SinusoidOrder::halves, SinusoidOrder::apart}) {
    const Twin table = unwritten(dtype(), {47, 30});
    run(PositionTable{.table_XC = table.cpu, .order = order},
        PositionTable{.table_XC = table.cuda, .order = order});
    expect_close(table, tolerance(), "table of halves");
  }
}

// Short utterances have few of the distances that are told apart, long ones clip many.
TEST_P(CudaAttention, ShawPositions) {
  constexpr std::int64_t kWidth = 37, kHeads = 3;
  for (const auto& [left, right] : {std::pair{9, 3}, {0, 0}, {0, 1}, {1, 0}})
    for (const std::int64_t longest : {1, 5, 130}) {
      const Shape shape{2 * longest - 1, kHeads * kWidth};
      const Twin weight = random(dtype(), {left + 1 + right, kWidth});
      const Twin r = unwritten(dtype(), shape), dr = random(DType::f32, shape),
                 gradient = random(DType::f32, weight.cpu.shape);
      run(ShawPositionsForward{weight.cpu, left, r.cpu},
          ShawPositionsForward{weight.cuda, left, r.cuda});
      expect_close(r, tolerance(), "r");
      run(ShawPositionsBackwardWeight{dr.cpu, left, gradient.cpu},
          ShawPositionsBackwardWeight{dr.cuda, left, gradient.cuda});
      expect_close(gradient, 1e-5, "d weight");
    }
}

TEST_P(CudaAttention, RejectsWideHeadsWithRelativePositions) {
  const Kind kind{.relative = true, .width = 129};
  const Operands of = operands(kind);
  EXPECT_THROW(run_forward(kind, of), DeviceError);
}

TEST_P(CudaAttention, RejectsTwoKindsOfPositionsInHalves) {
  const Kind kind{.relative = true, .rotary_base = 100, .width = 38};
  if (dtype() == DType::f32)
    expect_forward(kind);
  else
    EXPECT_THROW(run_forward(kind, operands(kind)), DeviceError);
}

PARITY_OF_ALL_TYPES(CudaAttention);

}  // namespace
}  // namespace penstock::layers
