#include "tests/emulated_cuda/emulation/device/mma.h"

#include <bit>
#include <cstring>

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/grid.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda {
namespace {

constexpr std::size_t kInner = 16;  // rows of b

struct Operands {
  unsigned a[4], b[2];
};
static_assert(sizeof(Operands) == sizeof(WarpValue));

float number(__half value) { return __half2float(value); }
float number(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class T>
float part(unsigned pair, std::size_t which) {
  const auto bits = static_cast<unsigned short>(pair >> 16 * which);
  return number(std::bit_cast<T>(bits));
}

Operands operands(const WarpValues& all, std::size_t lane) {
  Operands of;
  std::memcpy(&of, &all.values[lane], sizeof of);
  return of;
}

/// Row `row` of a.
template <class T>
void gather_row(const WarpValues& all, std::size_t row, float (&to)[kInner]) {
  for (std::size_t k = 0; k < kInner; ++k) {
    const Operands of = operands(all, row % 8 * 4 + k % 8 / 2);
    to[k] = part<T>(of.a[k / 8 * 2 + row / 8], k % 2);
  }
}

/// Column `column` of b.
template <class T>
void gather_column(const WarpValues& all, std::size_t column, float (&to)[kInner]) {
  for (std::size_t k = 0; k < kInner; ++k)
    to[k] = part<T>(operands(all, column * 4 + k % 8 / 2).b[k / 8], k % 2);
}

template <class T>
void multiply(float (&c)[4], const Operands& own, int line) {
  const Unobserved unobserved;
  Thread& self = *running_block().threads.current();
  WarpValue value;
  std::memcpy(&value, &own, sizeof value);
  const WarpValues& all = running_block().warp_of(self).meet({"mma_m16n8k16", ~0u, line}, value);
  if (all.present != ~0u) fail("mma_m16n8k16 (line ", line, ") lacks lanes of its warp");
  const auto lane = static_cast<std::size_t>(self.lane());
  float rows[2][kInner], columns[2][kInner];
  for (std::size_t i = 0; i < 2; ++i) {
    gather_row<T>(all, lane / 4 + 8 * i, rows[i]);
    gather_column<T>(all, lane % 4 * 2 + i, columns[i]);
  }
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t k = 0; k < kInner; ++k) c[i] += rows[i / 2][k] * columns[i % 2][k];
}

}  // namespace
}  // namespace emulated_cuda

void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], __half, int line) {
  emulated_cuda::multiply<__half>(c, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, line);
}

void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], __nv_bfloat16,
                  int line) {
  emulated_cuda::multiply<__nv_bfloat16>(c, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, line);
}
