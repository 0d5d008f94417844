#pragma once

#include <algorithm>
#include <cmath>

#include "layers/ops/recurrence.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {

/// One micro-batch of a recurrence, on both backends.
struct RecurrenceTwins {
  std::vector<std::int64_t> lengths;
  Twin p, dy, y, dp, kept, previous, cell, dn;
};

/// Recurrences of any width on both backends.
class RecurrenceParity : public Parity {
 protected:
  /// Calls body for each kind and number of directions, with weights sampled.
  template <class Body>
  void for_each_shape(std::int64_t hidden, Body body) {
    for (const auto kind : {RecurrenceKind::tanh, RecurrenceKind::gru, RecurrenceKind::lstm})
      for (std::int64_t directions : {1, 2}) {
        SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", directions " +
                     std::to_string(directions));
        shape_ = {kind, directions, hidden, {}};
        const std::int64_t gated = shape_.gates() * hidden;
        const double bound = 1 / std::sqrt(static_cast<double>(hidden));
        w_ = random(dtype(), {directions, gated, hidden}, -bound, bound);
        b_ = random(dtype(), {directions, gated}, -bound, bound);
        dw_ = random(DType::f32, {directions, gated, hidden});
        db_ = random(DType::f32, {directions, gated});
        body();
      }
  }

  RecurrenceTwins micro_batch(const std::vector<std::int64_t>& lengths) {
    RecurrenceTwins m;
    m.lengths = lengths;
    const std::int64_t hidden = shape_.hidden, directions = shape_.directions,
                       frames = of(m).frames();
    const std::int64_t columns = directions * shape_.gates() * hidden;
    const auto own = [&](std::int64_t width) {
      return unwritten(dtype(), {directions, frames, width});
    };
    m.p = random(dtype(), {frames, columns});
    m.dy = random(dtype(), {frames, hidden});
    m.y = unwritten(dtype(), {frames, hidden});
    m.dp = unwritten(dtype(), {frames, columns});
    m.kept = own(shape_.kept() * hidden);
    m.previous = own(hidden);
    if (shape_.kind == RecurrenceKind::lstm) m.cell = own(hidden);
    if (shape_.kind == RecurrenceKind::gru) m.dn = own(hidden);
    return m;
  }

  void forward(const RecurrenceTwins& m, bool train = true) {
    const auto on = [&](Tensor Twin::*side, std::span<std::byte> workspace) {
      return RecurrenceForward{of(m),    m.p.*side, w_.*side,
                               b_.*side, m.y.*side, train ? kept(m, side) : RecurrenceKept{},
                               workspace};
    };
    run(on(&Twin::cpu, host_memory(workspace(m, DeviceKind::cpu).forward)),
        on(&Twin::cuda, device_memory(workspace(m, DeviceKind::cuda).forward)));
  }

  void backward_input(const RecurrenceTwins& m) {
    const auto on = [&](Tensor Twin::*side, std::span<std::byte> workspace) {
      return RecurrenceBackwardInput{of(m),      m.dy.*side, w_.*side, kept(m, side),
                                     m.dp.*side, m.dn.*side, workspace};
    };
    run(on(&Twin::cpu, host_memory(workspace(m, DeviceKind::cpu).backward_input)),
        on(&Twin::cuda, device_memory(workspace(m, DeviceKind::cuda).backward_input)));
  }

  void backward_weight(const RecurrenceTwins& m) {
    const auto on = [&](Tensor Twin::*side) {
      return RecurrenceBackwardWeight{of(m),      m.previous.*side, m.dp.*side,
                                      m.dn.*side, dw_.*side,        db_.*side};
    };
    run(on(&Twin::cpu), on(&Twin::cuda));
  }

  /// A state is rounded once a frame, and errors at most persist.
  double tolerance_of(const RecurrenceTwins& m) const {
    return static_cast<double>(*std::max_element(m.lengths.begin(), m.lengths.end())) * tolerance();
  }

  Twin dw_, db_;

 private:
  RecurrenceShape of(const RecurrenceTwins& m) const {
    RecurrenceShape shape = shape_;
    shape.lengths = m.lengths;
    return shape;
  }
  Workspace workspace(const RecurrenceTwins& m, DeviceKind device) const {
    return recurrence_workspace({device, device == DeviceKind::cpu ? DType::f32 : dtype()}, of(m));
  }
  static RecurrenceKept kept(const RecurrenceTwins& m, Tensor Twin::*side) {
    return {m.kept.*side, m.previous.*side, m.cell.*side};
  }

  RecurrenceShape shape_;
  Twin w_, b_;
};

}  // namespace penstock::layers
