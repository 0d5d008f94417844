#include "layers/ops/recurrence.h"

#include <algorithm>
#include <cmath>

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

/// One micro-batch of a recurrence, on both backends.
struct MicroBatch {
  std::vector<std::int64_t> lengths;
  Twin p, dy, y, dp, kept, previous, cell, dn;
};

class CudaRecurrence : public Parity {
 protected:
  static constexpr std::int64_t kHidden = 35;  // no multiple of anything

  /// Calls body for each kind and number of directions, with weights sampled.
  template <class Body>
  void for_each_shape(Body body) {
    for (const auto kind : {RecurrenceKind::tanh, RecurrenceKind::gru, RecurrenceKind::lstm})
      for (std::int64_t directions : {1, 2}) {
        SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", directions " +
                     std::to_string(directions));
        shape_ = {kind, directions, kHidden, {}};
        const std::int64_t gated = shape_.gates() * kHidden;
        const double bound = 1 / std::sqrt(static_cast<double>(kHidden));
        w_ = random(dtype(), {directions, gated, kHidden}, -bound, bound);
        b_ = random(dtype(), {directions, gated}, -bound, bound);
        dw_ = random(DType::f32, {directions, gated, kHidden});
        db_ = random(DType::f32, {directions, gated});
        body();
      }
  }

  MicroBatch micro_batch(const std::vector<std::int64_t>& lengths) {
    MicroBatch m;
    m.lengths = lengths;
    const std::int64_t directions = shape_.directions, frames = of(m).frames();
    const std::int64_t columns = directions * shape_.gates() * kHidden;
    const auto own = [&](std::int64_t width) {
      return unwritten(dtype(), {directions, frames, width});
    };
    m.p = random(dtype(), {frames, columns});
    m.dy = random(dtype(), {frames, kHidden});
    m.y = unwritten(dtype(), {frames, kHidden});
    m.dp = unwritten(dtype(), {frames, columns});
    m.kept = own(shape_.kept() * kHidden);
    m.previous = own(kHidden);
    if (shape_.kind == RecurrenceKind::lstm) m.cell = own(kHidden);
    if (shape_.kind == RecurrenceKind::gru) m.dn = own(kHidden);
    return m;
  }

  void forward(const MicroBatch& m, bool train = true) {
    const auto on = [&](Tensor Twin::*side, std::span<std::byte> workspace) {
      return RecurrenceForward{of(m),    m.p.*side, w_.*side,
                               b_.*side, m.y.*side, train ? kept(m, side) : RecurrenceKept{},
                               workspace};
    };
    run(on(&Twin::cpu, host_memory(workspace(m, DeviceKind::cpu).forward)),
        on(&Twin::cuda, device_memory(workspace(m, DeviceKind::cuda).forward)));
  }

  void backward_input(const MicroBatch& m) {
    const auto on = [&](Tensor Twin::*side, std::span<std::byte> workspace) {
      return RecurrenceBackwardInput{of(m),      m.dy.*side, w_.*side, kept(m, side),
                                     m.dp.*side, m.dn.*side, workspace};
    };
    run(on(&Twin::cpu, host_memory(workspace(m, DeviceKind::cpu).backward_input)),
        on(&Twin::cuda, device_memory(workspace(m, DeviceKind::cuda).backward_input)));
  }

  void backward_weight(const MicroBatch& m) {
    const auto on = [&](Tensor Twin::*side) {
      return RecurrenceBackwardWeight{of(m),      m.previous.*side, m.dp.*side,
                                      m.dn.*side, dw_.*side,        db_.*side};
    };
    run(on(&Twin::cpu), on(&Twin::cuda));
  }

  /// A state is rounded once a frame, and errors at most persist.
  double tolerance_of(const MicroBatch& m) const {
    return static_cast<double>(*std::max_element(m.lengths.begin(), m.lengths.end())) * tolerance();
  }

  Twin dw_, db_;

 private:
  RecurrenceShape of(const MicroBatch& m) const {
    RecurrenceShape shape = shape_;
    shape.lengths = m.lengths;
    return shape;
  }
  Workspace workspace(const MicroBatch& m, DeviceKind device) const {
    return recurrence_workspace({device, device == DeviceKind::cpu ? DType::f32 : dtype()}, of(m));
  }
  static RecurrenceKept kept(const MicroBatch& m, Tensor Twin::*side) {
    return {m.kept.*side, m.previous.*side, m.cell.*side};
  }

  RecurrenceShape shape_;
  Twin w_, b_;
};

TEST_P(CudaRecurrence, Forward) {
  for_each_shape([&] {
    const MicroBatch m = micro_batch({7, 1, 13, 5});
    forward(m);
    expect_close(m.y, tolerance_of(m), "y");
    expect_close(m.kept, tolerance_of(m), "kept");
    expect_close(m.previous, tolerance_of(m), "previous");
  });
}

TEST_P(CudaRecurrence, Evaluation) {
  for_each_shape([&] {
    const MicroBatch m = micro_batch({4, 4, 9});
    forward(m, false);
    expect_close(m.y, tolerance_of(m), "y");
  });
}

TEST_P(CudaRecurrence, BackwardInput) {
  for_each_shape([&] {
    const MicroBatch m = micro_batch({7, 1, 13, 5});
    forward(m);
    backward_input(m);
    expect_close(m.dp, 4 * tolerance_of(m), "dp");
  });
}

TEST_P(CudaRecurrence, BackwardWeightBehindOtherMicroBatches) {
  for_each_shape([&] {
    const MicroBatch first = micro_batch({7, 1, 13, 5}), second = micro_batch({2, 11});
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

PARITY_OF_ALL_TYPES(CudaRecurrence);

}  // namespace
}  // namespace penstock::layers
