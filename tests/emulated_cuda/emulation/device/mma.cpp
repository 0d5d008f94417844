#include "tests/emulated_cuda/emulation/device/mma.h"

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/grid.h"
#include "tests/emulated_cuda/emulation/tf32.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda {
namespace {

struct Operands {
  unsigned a[4], b[2];
};
static_assert(sizeof(Operands) == sizeof(WarpValue));

/// In a register, as tensor cores see it.
struct Tf32 {
  unsigned bits;
};

/// Converts by an instruction of the host: __half2float takes dozens of them there.
float number(__half value) { return _cvtsh_ss(std::bit_cast<std::uint16_t>(value)); }
float number(__nv_bfloat16 value) { return __bfloat162float(value); }
float number(Tf32 value) { return seen_in_tf32(value.bits); }

template <class T>
constexpr std::size_t kInRegister = sizeof(unsigned) / sizeof(T);  // numbers
/// Rows of b: two registers of each of four lanes.
template <class T>
constexpr std::size_t kInner = 2 * 4 * kInRegister<T>;

/// Says where number k of a row of a, or of a column of b, lies among four lanes.
template <class T>
struct InLanes {
  explicit InLanes(std::size_t k)
      : lane(k / kInRegister<T> % 4), half(k / kInRegister<T> / 4), place(k % kInRegister<T>) {}
  float in(unsigned bits) const {
    return number(std::bit_cast<std::array<T, kInRegister<T>>>(bits)[place]);
  }
  std::size_t lane, half, place;
};

Operands operands(const WarpValues& all, std::size_t lane) {
  Operands of;
  std::memcpy(&of, &all.values[lane], sizeof of);
  return of;
}

/// Row `row` of a.
template <class T>
void gather_row(const WarpValues& all, std::size_t row, float (&to)[kInner<T>]) {
  for (std::size_t k = 0; k < kInner<T>; ++k) {
    const InLanes<T> at(k);
    to[k] = at.in(operands(all, row % 8 * 4 + at.lane).a[at.half * 2 + row / 8]);
  }
}

/// Column `column` of b.
template <class T>
void gather_column(const WarpValues& all, std::size_t column, float (&to)[kInner<T>]) {
  for (std::size_t k = 0; k < kInner<T>; ++k) {
    const InLanes<T> at(k);
    to[k] = at.in(operands(all, column * 4 + at.lane).b[at.half]);
  }
}

template <class T>
void multiply(float (&c)[4], const Operands& own, const char* name, int line) {
  const Unobserved unobserved;
  Thread& self = *running_block().threads.current();
  WarpValue value;
  std::memcpy(&value, &own, sizeof value);
  const WarpValues& all = running_block().warp_of(self).meet({name, ~0u, line}, value);
  if (all.present != ~0u) fail(name, " (line ", line, ") lacks lanes of its warp");
  const auto lane = static_cast<std::size_t>(self.lane());
  float rows[2][kInner<T>], columns[2][kInner<T>];
  for (std::size_t i = 0; i < 2; ++i) {
    gather_row<T>(all, lane / 4 + 8 * i, rows[i]);
    gather_column<T>(all, lane % 4 * 2 + i, columns[i]);
  }
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t k = 0; k < kInner<T>; ++k) c[i] += rows[i / 2][k] * columns[i % 2][k];
}

}  // namespace
}  // namespace emulated_cuda

void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], __half, int line) {
  emulated_cuda::multiply<__half>(c, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, "mma_m16n8k16",
                                  line);
}

void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], __nv_bfloat16,
                  int line) {
  emulated_cuda::multiply<__nv_bfloat16>(c, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}},
                                         "mma_m16n8k16", line);
}

void mma_m16n8k8(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], int line) {
  emulated_cuda::multiply<emulated_cuda::Tf32>(c, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}},
                                               "mma_m16n8k8", line);
}
