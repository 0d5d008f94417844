#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/halves/half_vector.h"
#include "layers/ops/columns.h"
#include "layers/ops/elementwise.h"

namespace penstock::layers {
namespace {

double widen(double value) { return value; }
float widen(float value) { return value; }
float widen(Half value) { return to_float(value); }
float widen(BFloat16 value) { return to_float(value); }

template <class Wide>
void narrow(Wide value, float& to) {
  to = static_cast<float>(value);
}
template <class Wide>
void narrow(Wide value, double& to) {
  to = value;
}
// A double that becomes 16-bit is rounded to float first, and so twice.
template <class Wide>
void narrow(Wide value, Half& to) {
  to = to_half(static_cast<float>(value));
}
template <class Wide>
void narrow(Wide value, BFloat16& to) {
  to = to_bfloat16(static_cast<float>(value));
}

// Calls `work` with a null pointer of the type that `dtype` names.
template <class Work>
void for_type(DType dtype, Work work) {
  switch (dtype) {
    case DType::f32:
      return work(static_cast<float*>(nullptr));
    case DType::f64:
      return work(static_cast<double*>(nullptr));
    case DType::f16:
      return work(static_cast<Half*>(nullptr));
    case DType::bf16:
      return work(static_cast<BFloat16*>(nullptr));
    default:
      throw DeviceError(fmt::format("Cast takes f32, f64, f16 and bf16, not {}", name_of(dtype)));
  }
}

template <class From, class To>
void convert(const From* __restrict from, To* __restrict to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) narrow(widen(from[i]), to[i]);
}

// These convert eight numbers at a time, because activations are widened and rounded at every
// operation.
void convert(const Half* __restrict from, float* __restrict to, std::int64_t count) {
  convert8(from, to, count);
}
void convert(const float* __restrict from, Half* __restrict to, std::int64_t count) {
  convert8(from, to, count);
}
void convert(const BFloat16* __restrict from, float* __restrict to, std::int64_t count) {
  convert8(from, to, count);
}
void convert(const float* __restrict from, BFloat16* __restrict to, std::int64_t count) {
  convert8(from, to, count);
}

}  // namespace

// Like Cast, it names no operands() and runs on 16-bit numbers themselves.
template <>
void CpuBackend::compute(Stream&, const CastColumns& op) {
  expect_columns(op);
  for_type(op.from_FA.dtype, [&]<class From>(From*) {
    for_type(op.to_FB.dtype, [&]<class To>(To*) {
      const From* from = op.from_FA.as<From>() + op.first_from;
      To* to = op.to_FB.as<To>() + op.first_to;
      for (std::int64_t row = 0; row < op.to_FB.shape[0]; ++row) {
        if constexpr (std::is_same_v<From, To>)
          std::copy_n(from, op.columns, to);
        else
          convert(from, to, op.columns);
        from += op.from_FA.shape[1];
        to += op.to_FB.shape[1];
      }
    });
  });
}

template <>
void CpuBackend::compute(Stream&, const Cast& op) {
  const std::int64_t count = op.from.size();
  if (op.to.size() != count)
    throw ShapeError(fmt::format("Cast of {} numbers into {}", count, op.to.size()));
  if (op.from.dtype == op.to.dtype) {
    std::memcpy(op.to.data, op.from.data, op.from.bytes());
    return;
  }
  for_type(op.from.dtype, [&]<class From>(From*) {
    for_type(op.to.dtype,
             [&]<class To>(To*) { convert(op.from.as<From>(), op.to.as<To>(), count); });
  });
}

}  // namespace penstock::layers
