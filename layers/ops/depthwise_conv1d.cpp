#include "layers/ops/depthwise_conv1d.h"

#include "layers/cpu/sizes.h"

namespace penstock::layers {

std::size_t depthwise_conv1d_workspace(const DepthwiseConv1dSize& size, const BackendSizes& sizes) {
  if (sizes.device == DeviceKind::cuda) return 0;
  return cpu::depthwise_conv1d_workspace(size, arithmetic_of(sizes.compute));
}

}  // namespace penstock::layers
