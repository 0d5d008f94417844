#pragma once

#include <stdexcept>

namespace penstock {

/// Base of every error that penstock raises itself. A message states what was found, what was
/// expected, where, and what to do.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A configuration, option or plan that can't be used. The message lists every fault and its place.
class ConfigError : public Error {
  using Error::Error;
};

/// Shapes, channels or lengths that do not fit each other.
class ShapeError : public Error {
  using Error::Error;
};

/// A device, its driver or its libraries failed or are missing.
class DeviceError : public Error {
  using Error::Error;
};

/// A message could not be sent, received or matched.
class CommError : public Error {
  using Error::Error;
};

/// Audio, transcripts or manifests that can't be used.
class DataError : public Error {
  using Error::Error;
};

/// A checkpoint that can't be read, trusted or written.
class CheckpointError : public Error {
  using Error::Error;
};

/// Training makes no progress: step after step, the gradient is not finite. Every rank finds it at
/// the same step.
class DivergenceError : public Error {
  using Error::Error;
};

}  // namespace penstock
