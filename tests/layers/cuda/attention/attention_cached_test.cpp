#include "layers/ops/attention_cached.h"

#include <numeric>
#include <vector>

#include "base/error.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

constexpr std::int64_t kCapacity = 140;

struct Kind {
  std::vector<std::int64_t> past = {7, 0, 33, 5, 130};
  std::vector<std::int64_t> lengths = {1, 3, 1, 0, 9};
  double rotary_base = 0;
  std::int64_t left = kWholeUtterance;
  std::int64_t width = 37;  // of a head: more than a warp of channels
  std::int64_t heads = 3;
  std::int64_t kv_heads = 0;
  bool cross = false;  // the cache has a memory's rows

  std::int64_t rows() const { return std::reduce(lengths.begin(), lengths.end()); }
  std::int64_t channels() const { return heads * width; }
  AttentionGeometry geometry() const {
    return {.heads = heads,
            .channels = channels(),
            .kv_heads = kv_heads,
            .left = left,
            .right = 0,
            .rotary_base = rotary_base,
            .lengths = lengths,
            .key_lengths =
                cross ? std::span<const std::int64_t>(past) : std::span<const std::int64_t>()};
  }
  Shape queries() const { return {rows(), cross ? channels() : geometry().columns()}; }
};

class CudaAttentionCached : public Parity {
 protected:
  struct Operands {
    Twin qkv, keys, values, y;
  };

  Operands operands(const Kind& kind) {
    const auto utterances = static_cast<std::int64_t>(kind.lengths.size());
    const Shape cache{utterances, kCapacity, kind.geometry().key_channels()};
    return {random(dtype(), kind.queries(), -2, 2), random(dtype(), cache, -2, 2),
            random(dtype(), cache, -2, 2), unwritten(dtype(), {kind.rows(), kind.channels()})};
  }

  void run_on_both(const Kind& kind, const Operands& of) {
    const auto on = [&](auto side, std::span<std::byte> workspace) {
      return AttentionCached{kind.geometry(), of.qkv.*side,
                             KeyValueCache{of.keys.*side, of.values.*side, kind.past}, of.y.*side,
                             workspace};
    };
    const std::size_t cpu = attention_cached_workspace({}, kind.geometry());
    const std::size_t cuda =
        attention_cached_workspace({DeviceKind::cuda, dtype()}, kind.geometry());
    run(on(&Twin::cpu, host_memory(cpu)), on(&Twin::cuda, device_memory(cuda)));
  }

  // Halves are rounded where the cache takes rotated keys, and where y is written; in
  // AttentionForward, tensor cores take rounded weights besides.
  void expect_equal(const Kind& kind) {
    const Operands of = operands(kind);
    run_on_both(kind, of);
    expect_close(of.keys, tolerance(), "keys");
    expect_close(of.values, tolerance(), "values");
    expect_close(of.y, 4 * tolerance(), "y");
  }
};

TEST_P(CudaAttentionCached, NextRows) {
  for (const Kind& kind : {Kind{}, Kind{.rotary_base = 100, .width = 38}, Kind{.left = 9},
                           Kind{.rotary_base = 500, .width = 22, .heads = 6, .kv_heads = 2},
                           Kind{.rotary_base = 10000, .left = 40, .width = 128, .heads = 1},
                           Kind{.rotary_base = 100, .width = 270, .heads = 2, .kv_heads = 1},
                           Kind{.left = 40, .width = 512, .heads = 1}})
    expect_equal(kind);
}

TEST_P(CudaAttentionCached, RowsOfAMemory) {
  for (const Kind& kind : {Kind{.past = {7, 140, 33, 1, 130}, .cross = true}, Kind{.past = {7, 1},
                                                                              .lengths = {1, 1},
                                                                              .width = 64,
                                                                              .heads = 4,
                                                                              .kv_heads = 2,
                                                                              .cross = true}})
    expect_equal(kind);
}

TEST_P(CudaAttentionCached, FirstRows) {
  expect_equal(
      {.past = {0, 0, 0}, .lengths = {7, 0, 33}, .rotary_base = 100, .width = 38, .kv_heads = 1});
  expect_equal({.past = {0, 0}, .lengths = {7, 0}, .rotary_base = 100, .width = 130, .heads = 2});
}

TEST_P(CudaAttentionCached, RejectsHeadsThatAreTooWide) {
  const Kind kind{.width = 513};
  EXPECT_THROW(run_on_both(kind, operands(kind)), DeviceError);
}

TEST_P(CudaAttentionCached, RejectsRowsBeyondTheCapacity) {
  const Kind kind{.past = {kCapacity}, .lengths = {1}};
  const Operands of = operands(kind);
  const std::size_t bytes =
      attention_cached_workspace({DeviceKind::cuda, dtype()}, kind.geometry());
  EXPECT_THROW(cuda_->run(*cuda_stream_, AttentionCached{kind.geometry(),
                                                         of.qkv.cuda,
                                                         {of.keys.cuda, of.values.cuda, kind.past},
                                                         of.y.cuda,
                                                         device_memory(bytes)}),
               ShapeError);
}

PARITY_OF_ALL_TYPES(CudaAttentionCached);

}  // namespace
}  // namespace penstock::layers
