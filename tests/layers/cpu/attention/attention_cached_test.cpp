#include "layers/ops/attention_cached.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "layers/backend.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

using test::numbers;

constexpr std::int64_t kHeads = 6, kCapacity = 150;
const std::vector<std::int64_t> kLengths = {7, 1, 131, 0, 70};  // more than two blocks of rows
const std::vector<std::int64_t> kNone(5);

/// Numbers of some dtype, in host memory whose end is guarded.
struct Numbers {
  Numbers(DType dtype, const Shape& shape) : tensor{nullptr, dtype, shape}, memory(tensor.bytes()) {
    tensor.data = memory.data();
    memory.poison();
  }
  Tensor tensor;
  test::GuardedMemory memory;
};

std::int64_t sum(std::span<const std::int64_t> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

struct CacheCase {
  DType dtype = DType::f64;
  double rotary_base = 0;
  std::int64_t left = kWholeUtterance;
  std::int64_t width = 12;  // of a head
  double tolerance = 1e-12;
  std::int64_t kv_heads = 0;
};

struct CachedAttentionCases : testing::TestWithParam<CacheCase> {
  std::int64_t channels() const { return kHeads * GetParam().width; }
  BackendSizes sizes() const { return {DeviceKind::cpu, GetParam().dtype}; }
  AttentionGeometry geometry(std::span<const std::int64_t> lengths) const {
    return {.heads = kHeads,
            .channels = channels(),
            .kv_heads = GetParam().kv_heads,
            .left = GetParam().left,
            .right = 0,
            .rotary_base = GetParam().rotary_base,
            .lengths = lengths};
  }
  /// The whole operation over utterances of kLengths.
  std::vector<double> whole() {
    const Workspace bytes = attention_workspace(sizes(), geometry(kLengths), false);
    const test::GuardedMemory workspace(bytes.forward);
    const Numbers y(GetParam().dtype, {sum(kLengths), channels()}), qkv = rows_of(kLengths, kNone);
    backend_->run(*stream_, AttentionForward{.geometry = geometry(kLengths),
                                             .qkv_FP = qkv.tensor,
                                             .dropout = {},
                                             .y_FC = y.tensor,
                                             .log_sums_HF = {},
                                             .workspace = workspace.bytes()});
    return numbers(y.tensor);
  }
  /// Rows of the whole utterances' q, k and v: so many of each, from `past` on.
  Numbers rows_of(std::span<const std::int64_t> lengths, std::span<const std::int64_t> past) const {
    const std::int64_t P = geometry(lengths).columns();
    const std::vector<double> all = test::uniform(sum(kLengths) * P, 5, -2, 2);
    Numbers rows(GetParam().dtype, {sum(lengths), P});
    std::vector<double> taken;
    std::int64_t first = 0;
    for (std::size_t u = 0; u < kLengths.size(); first += kLengths[u], ++u) {
      const auto from = all.begin() + (first + past[u]) * P;
      taken.insert(taken.end(), from, from + lengths[u] * P);
    }
    test::assign(rows.tensor, taken);
    return rows;
  }
  /// Computes so many rows more of each utterance, and puts them in their places of `all`.
  void step(const std::vector<std::int64_t>& lengths, std::vector<double>& all) {
    const Numbers qkv = rows_of(lengths, past_);
    Numbers y(GetParam().dtype, {sum(lengths), channels()});
    const test::GuardedMemory workspace(attention_cached_workspace(sizes(), geometry(lengths)));
    backend_->run(*stream_, AttentionCached{geometry(lengths),
                                            qkv.tensor,
                                            {keys_.tensor, values_.tensor, past_},
                                            y.tensor,
                                            workspace.bytes()});
    workspace.check("workspace");
    y.memory.check("y");
    keys_.memory.check("keys");
    values_.memory.check("values");
    all.resize(static_cast<std::size_t>(sum(kLengths) * channels()));
    const std::vector<double> found = numbers(y.tensor);
    auto from = found.begin();
    std::int64_t first = 0;
    for (std::size_t u = 0; u < lengths.size(); first += kLengths[u], ++u) {
      std::copy_n(from, lengths[u] * channels(), all.begin() + (first + past_[u]) * channels());
      from += lengths[u] * channels();
      past_[u] += lengths[u];
    }
  }
  /// Begins with prefixes, and then adds at most `rows` rows of each utterance in a step.
  std::vector<double> stepwise(std::int64_t rows) {
    past_.assign(kLengths.size(), 0);
    std::vector<double> y;
    step({3, 1, 65, 0, 0}, y);
    while (past_ != kLengths) {
      std::vector<std::int64_t> next;
      for (std::size_t u = 0; u < kLengths.size(); ++u)
        next.push_back(std::min(rows, kLengths[u] - past_[u]));
      step(next, y);
    }
    return y;
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<Stream> stream_ = backend_->make_stream();
  Numbers keys_{GetParam().dtype, {5, kCapacity, geometry(kNone).key_channels()}};
  Numbers values_{GetParam().dtype, {5, kCapacity, geometry(kNone).key_channels()}};
  std::vector<std::int64_t> past_;
};

TEST_P(CachedAttentionCases, StepByStepEqualsWhole) {
  EXPECT_LE(test::relative_error(stepwise(1), whole()), GetParam().tolerance);
}

// The bits of a row don't depend on how many rows are computed with it.
TEST_P(CachedAttentionCases, RowsTogetherEqualSingleOnes) {
  const std::vector<double> together = stepwise(9);
  EXPECT_EQ(stepwise(1), together);
}

// In halves, the cached keys and values and each result are rounded once.
INSTANTIATE_TEST_SUITE_P(
    Kinds, CachedAttentionCases,
    testing::Values(
        CacheCase{}, CacheCase{.rotary_base = 100}, CacheCase{.left = 9},
        CacheCase{.rotary_base = 10000, .left = 66}, CacheCase{.rotary_base = 500, .kv_heads = 2},
        CacheCase{.kv_heads = 1},
        CacheCase{.dtype = DType::f32, .rotary_base = 100, .tolerance = 2e-6},
        CacheCase{.dtype = DType::f32, .width = 37, .tolerance = 2e-6},
        CacheCase{.dtype = DType::f16, .rotary_base = 100, .tolerance = 0x1p-9, .kv_heads = 3},
        CacheCase{.dtype = DType::bf16, .width = 37, .tolerance = 0x1p-6}));

struct CachedAttentionChecks : CachedAttentionCases {};

TEST_P(CachedAttentionChecks, RejectRowsBeyondTheCapacity) {
  std::vector<double> y;
  past_ = {0, 0, kCapacity - 4, 0, 0};
  EXPECT_THROW(step({1, 0, 5, 0, 0}, y), ShapeError);
  past_ = {0, 0, -1, 0, 0};
  EXPECT_THROW(step({1, 0, 1, 0, 0}, y), ShapeError);
}

TEST_P(CachedAttentionChecks, RejectCachesOfOtherShapes) {
  const std::vector<std::int64_t> one = {1, 0, 0, 0, 0};
  const Numbers qkv = rows_of(one, kNone), y(DType::f32, {1, channels()}),
                other(DType::f32, {5, kCapacity, channels() + 1});
  const test::GuardedMemory workspace(attention_cached_workspace(sizes(), geometry(one)));
  const AttentionCached good{geometry(one),
                             qkv.tensor,
                             {keys_.tensor, values_.tensor, kNone},
                             y.tensor,
                             workspace.bytes()};
  EXPECT_NO_THROW(backend_->run(*stream_, good));
  const auto expect_refused = [&](auto change) {
    AttentionCached op = good;
    change(op);
    EXPECT_THROW(backend_->run(*stream_, op), ShapeError);
  };
  expect_refused([&](AttentionCached& op) { op.cache.values_UTC = other.tensor; });
  expect_refused(
      [&](AttentionCached& op) { op.cache.keys_UTC = op.cache.values_UTC = other.tensor; });
  expect_refused([&](AttentionCached& op) { op.cache.past = op.cache.past.first(4); });
  expect_refused([](AttentionCached& op) { op.geometry.right = 1; });
  expect_refused([](AttentionCached& op) {
    op.cache.keys_UTC.dtype = op.cache.values_UTC.dtype = DType::f64;
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, CachedAttentionChecks,
                         testing::Values(CacheCase{.dtype = DType::f32}));

}  // namespace
}  // namespace penstock::layers
