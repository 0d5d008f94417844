#pragma once

// Every typed error that a user of the runtime may meet.
#include "configs/config.h"
#include "layers/tensor/error.h"

namespace penstock {

/// Training no longer changes the model: step after step has a gradient that is not finite. Every
/// rank finds it at the same step.
class DivergenceError : public Error {
  using Error::Error;
};

}  // namespace penstock
