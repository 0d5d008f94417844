#include "tests/emulated_cuda/emulation/device/warp.h"

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/grid.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda {
namespace {

const WarpValues& meet(const WarpCall& call, std::uint64_t value) {
  return running_block().warp_of(*running_block().threads.current()).meet(call, {value});
}

}  // namespace

int lane_of_thread() { return running_block().threads.current()->lane(); }

std::uint64_t exchange(const WarpCall& call, std::uint64_t value, int source) {
  const Unobserved unobserved;
  const WarpValues& all = meet(call, value);
  if (source == kNoLane) return value;
  if ((all.present >> source & 1) == 0)
    fail(call.name, " (line ", call.line, ") reads lane ", source, ", which does not take part");
  return all.values[static_cast<std::size_t>(source)][0];
}

unsigned vote(const WarpCall& call, bool value) {
  const Unobserved unobserved;
  const WarpValues& all = meet(call, value ? 1 : 0);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((all.present >> lane & 1) != 0 && all.values[lane][0] != 0) votes |= 1u << lane;
  return votes;
}

}  // namespace emulated_cuda
