#pragma once

#include <cstdint>

#include "layers/cpu/vector_math.h"
#include "layers/ops/recurrence.h"

namespace penstock::layers {

/// One frame of one direction, forward; names and formulas as at RecurrenceKind. `next` and
/// `next_cell` may be the same memory as `previous` and `previous_cell`.
template <class T>
struct ForwardRow {
  const T *p, *u, *c;                 // u = U h
  const T *previous, *previous_cell;  // h, s
  T* kept;
  T *next, *next_cell;  // h', s'
  T* y;
  bool add_to_y;
};

/// One frame of one direction, backward. `dh` holds the gradient of h' from the frame after. It
/// becomes that of h, without the part that comes through U. `ds` becomes the whole gradient of s
/// likewise.
template <class T>
struct BackwardRow {
  const T *dy, *kept;
  const T *previous, *previous_cell;
  T *dh, *ds;
  T *dp, *dn;
};

template <class T, class Lanes>
[[gnu::always_inline]] inline void leave_state(const ForwardRow<T>& row, std::int64_t j,
                                               Lanes lanes, const Vector<T>& h) {
  store<T>(row.next + j, h, lanes);
  store<T>(row.y + j, row.add_to_y ? h + load<T>(row.y + j, lanes) : h, lanes);
}

template <class T>
struct TanhGates {
  static constexpr RecurrenceKind kind = RecurrenceKind::tanh;

  static void forward(const ForwardRow<T>& row, std::int64_t hidden) {
    for_each_vector<T>(hidden, [&](std::int64_t j, auto lanes) {
      const auto at = [&](const T* x) { return load<T>(x + j, lanes); };
      const Vector<T> h = tanh(at(row.p) + at(row.u) + at(row.c));
      store<T>(row.kept + j, h, lanes);
      leave_state(row, j, lanes, h);
    });
  }

  static void backward(const BackwardRow<T>& row, std::int64_t hidden) {
    for_each_vector<T>(hidden, [&](std::int64_t j, auto lanes) {
      const auto at = [&](const T* x) { return load<T>(x + j, lanes); };
      const Vector<T> h = at(row.kept);
      store<T>(row.dp + j, (at(row.dy) + at(row.dh)) * (T{1} - h * h), lanes);
      store<T>(row.dh + j, Vector<T>{}, lanes);
    });
  }
};

template <class T>
struct GruGates {
  static constexpr RecurrenceKind kind = RecurrenceKind::gru;

  static void forward(const ForwardRow<T>& row, std::int64_t hidden) {
    // The gates r and z are computed first, so that chains of dependent operations stay short
    // enough to overlap.
    for_each_vector<T>(2 * hidden, [&](std::int64_t j, auto lanes) {
      const auto at = [&](const T* x) { return load<T>(x + j, lanes); };
      store<T>(row.kept + j, sigmoid(at(row.p) + at(row.u) + at(row.c)), lanes);
    });
    for_each_vector<T>(hidden, [&](std::int64_t j, auto lanes) {
      const auto at = [&](const T* x, int gate) { return load<T>(x + gate * hidden + j, lanes); };
      const Vector<T> r = at(row.kept, 0), z = at(row.kept, 1), q = at(row.u, 2) + at(row.c, 2);
      const Vector<T> n = tanh(at(row.p, 2) + r * q);
      store<T>(row.kept + 2 * hidden + j, n, lanes);
      store<T>(row.kept + 3 * hidden + j, q, lanes);
      leave_state(row, j, lanes, n + z * (at(row.previous, 0) - n));
    });
  }

  static void backward(const BackwardRow<T>& row, std::int64_t hidden) {
    for_each_vector<T>(hidden, [&](std::int64_t j, auto lanes) {
      const auto at = [&](const T* x, int place) { return load<T>(x + place * hidden + j, lanes); };
      const Vector<T> r = at(row.kept, 0), z = at(row.kept, 1), n = at(row.kept, 2),
                      q = at(row.kept, 3);
      const Vector<T> dh = at(row.dy, 0) + at(row.dh, 0);
      const Vector<T> dz = dh * (at(row.previous, 0) - n) * z * (T{1} - z);
      const Vector<T> dn = dh * (T{1} - z) * (T{1} - n * n);
      const auto give = [&](int gate, const Vector<T>& v) {
        store<T>(row.dp + gate * hidden + j, v, lanes);
      };
      give(0, dn * q * r * (T{1} - r));
      give(1, dz);
      give(2, dn);
      store<T>(row.dn + j, dn * r, lanes);
      store<T>(row.dh + j, dh * z, lanes);
    });
  }
};

template <class T>
struct LstmGates {
  static constexpr RecurrenceKind kind = RecurrenceKind::lstm;

  static void forward(const ForwardRow<T>& row, std::int64_t hidden) {
    const auto activate = [&](std::int64_t gate, std::int64_t gates, auto function) {
      for_each_vector<T>(gates * hidden, [&](std::int64_t j, auto lanes) {
        const auto at = [&](const T* x) { return load<T>(x + gate * hidden + j, lanes); };
        store<T>(row.kept + gate * hidden + j, function(at(row.p) + at(row.u) + at(row.c)), lanes);
      });
    };
    activate(0, 2, [](Vector<T> x) { return sigmoid(x); });
    activate(2, 1, [](Vector<T> x) { return tanh(x); });
    activate(3, 1, [](Vector<T> x) { return sigmoid(x); });
    for_each_vector<T>(hidden, [&](std::int64_t j, auto lanes) {
      const auto at = [&](const T* x, int gate) { return load<T>(x + gate * hidden + j, lanes); };
      const Vector<T> i = at(row.kept, 0), f = at(row.kept, 1), g = at(row.kept, 2),
                      o = at(row.kept, 3);
      const Vector<T> s = f * at(row.previous_cell, 0) + i * g;
      store<T>(row.next_cell + j, s, lanes);
      leave_state(row, j, lanes, o * tanh(s));
    });
  }

  static void backward(const BackwardRow<T>& row, std::int64_t hidden) {
    for_each_vector<T>(hidden, [&](std::int64_t j, auto lanes) {
      const auto at = [&](const T* x, int place) { return load<T>(x + place * hidden + j, lanes); };
      const Vector<T> i = at(row.kept, 0), f = at(row.kept, 1), g = at(row.kept, 2),
                      o = at(row.kept, 3), before = at(row.previous_cell, 0);
      const Vector<T> t = tanh(f * before + i * g);
      const Vector<T> dh = at(row.dy, 0) + at(row.dh, 0);
      const Vector<T> ds = at(row.ds, 0) + dh * o * (T{1} - t * t);
      const auto give = [&](int gate, const Vector<T>& v) {
        store<T>(row.dp + gate * hidden + j, v, lanes);
      };
      give(0, ds * g * i * (T{1} - i));
      give(1, ds * before * f * (T{1} - f));
      give(2, ds * i * (T{1} - g * g));
      give(3, dh * t * o * (T{1} - o));
      store<T>(row.ds + j, ds * f, lanes);
      store<T>(row.dh + j, Vector<T>{}, lanes);
    });
  }
};

}  // namespace penstock::layers
