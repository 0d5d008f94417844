#include "partition/planner/cost/rated_device.h"

namespace penstock::partition {

double ByFormat::of(const layers::BackendSizes& sizes) const {
  if (sizes.compute == layers::DType::f16) return f16;
  if (sizes.compute == layers::DType::bf16) return bf16;
  return sizes.products == layers::Fp32Products::tf32 ? tf32 : f32;
}

const char* name_of(CostClass of) {
  switch (of) {
    case CostClass::products:
      return "products";
    case CostClass::convolutions:
      return "convolutions";
    case CostClass::attention:
      return "attention";
    case CostClass::recurrences:
      return "recurrences";
    case CostClass::memory:
      return "memory";
    case CostClass::launches:
      break;
  }
  return "launches";
}

// Elementwise work belongs to memory, whose bandwidth bounds it. A recurrence is slower in all that
// it may be bound by: arithmetic, reading of weights, and time steps.
DeviceRates slower(DeviceRates rates, CostClass of, double factor) {
  switch (of) {
    case CostClass::products:
      rates.product /= factor;
      break;
    case CostClass::convolutions:
      rates.convolution /= factor;
      break;
    case CostClass::attention:
      rates.attention /= factor;
      break;
    case CostClass::recurrences:
      rates.recurrence /= factor;
      rates.weight_reading *= factor;
      rates.time_step *= factor;
      break;
    case CostClass::memory:
      rates.bandwidth /= factor;
      rates.elementwise /= factor;
      break;
    case CostClass::launches:
      rates.launch *= factor;
      break;
  }
  return rates;
}

// A device file has its rates for all formats, and those of `common` once.
DeviceRates RatedDevice::rates(const layers::BackendSizes& sizes) const {
  DeviceRates rates = common;
  rates.product = products.of(sizes);
  rates.convolution = convolutions.of(sizes);
  rates.attention = attention.of(sizes);
  rates.recurrence = recurrences.of(sizes);
  return rates;
}

DeviceRates RatedDevice::rates(const layers::BackendSizes& sizes, double errors) const {
  DeviceRates rates = this->rates(sizes);
  for (int of = 0; of < kCostClasses; ++of)
    rates = slower(rates, static_cast<CostClass>(of), 1 + errors * error[of]);
  return rates;
}

}  // namespace penstock::partition
