#include "comm/nccl.h"

namespace penstock::comm {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20, kMargin = std::size_t{16} << 20;
constexpr std::size_t kSimple = std::size_t{4} << 20;
// Steps × threads × bytes that a thread sends per step (src/include/device.h of NCCL).
constexpr std::size_t kLl128 = 8 * 640 * 120 * sizeof(std::uint64_t), kLl = 8 * 512 * 8 * 16;

}  // namespace

std::size_t nccl_memory(int ways, int channels) {
  constexpr std::size_t buffers = (kSimple + kLl128 + kLl + kPage - 1) / kPage * kPage;
  return static_cast<std::size_t>(ways) * static_cast<std::size_t>(channels) * buffers + kMargin;
}

}  // namespace penstock::comm
