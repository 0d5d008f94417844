#include "tests/layers/cuda/recurrence_parity.h"

namespace penstock::layers {
namespace {

/// So many short utterances that blocks have one tile of them or more, and then none is left.
std::vector<std::int64_t> short_utterances(std::int64_t count) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < count; ++i) lengths.push_back(1 + i * 7 % 4);
  return lengths;
}

class CudaRecurrence : public RecurrenceParity {
 protected:
  static constexpr std::int64_t kHidden = 35;       // no multiple of anything
  static constexpr std::int64_t kWideHidden = 131;  // more channels than a block of gates has

  /// Calls body(micro-batch) for fused steps with one block of tiles and two, and by products.
  template <class Body>
  void for_many_utterances(Body body) {
    for_each_shape(kHidden, [&] {
      for (const std::int64_t count : {9, 16, 33, 65}) {
        SCOPED_TRACE(count);
        body(micro_batch(short_utterances(count)));
      }
    });
    if (is_half(dtype())) return;  // FP32 has steps by products for fewer utterances
    for_each_shape(kWideHidden, [&] { body(micro_batch(short_utterances(17))); });
  }
};

TEST_P(CudaRecurrence, Forward) {
  for_each_shape(kHidden, [&] {
    const RecurrenceTwins m = micro_batch({7, 1, 13, 5});
    forward(m);
    expect_close(m.y, tolerance_of(m), "y");
    expect_close(m.kept, tolerance_of(m), "kept");
    expect_close(m.previous, tolerance_of(m), "previous");
  });
}

TEST_P(CudaRecurrence, ForwardOfManyUtterances) {
  for_many_utterances([&](const RecurrenceTwins& m) {
    forward(m);
    expect_close(m.y, tolerance_of(m), "y");
    expect_close(m.kept, tolerance_of(m), "kept");
  });
}

TEST_P(CudaRecurrence, BackwardInputOfManyUtterances) {
  for_many_utterances([&](const RecurrenceTwins& m) {
    forward(m);
    backward_input(m);
    expect_close(m.dp, 4 * tolerance_of(m), "dp");
  });
}

TEST_P(CudaRecurrence, Evaluation) {
  for_each_shape(kHidden, [&] {
    const RecurrenceTwins m = micro_batch({4, 4, 9});
    forward(m, false);
    expect_close(m.y, tolerance_of(m), "y");
  });
}

TEST_P(CudaRecurrence, BackwardInput) {
  for_each_shape(kHidden, [&] {
    const RecurrenceTwins m = micro_batch({7, 1, 13, 5});
    forward(m);
    backward_input(m);
    expect_close(m.dp, 4 * tolerance_of(m), "dp");
  });
}

TEST_P(CudaRecurrence, BackwardWeightAfterOtherMicroBatches) {
  for_each_shape(kHidden, [&] {
    const RecurrenceTwins first = micro_batch({7, 1, 13, 5}), second = micro_batch({2, 11});
    forward(first);
    forward(second);
    backward_input(first);
    backward_input(second);
    backward_weight(first);
    backward_weight(second);
    expect_close(dw_, 4 * tolerance_of(first), "dw");
    expect_close(db_, 4 * tolerance_of(first), "db");
  });
}

PARITY_OF_ALL_PRODUCTS(Cuda, CudaRecurrence);

}  // namespace
}  // namespace penstock::layers
