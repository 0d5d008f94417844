#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantities.h"
#include "configs/rules.h"

// Three keys describe one product: batch_seconds = micro_batch_seconds · micro_batches. The step's
// size, data.batch_seconds, is what training depends on; its division is a matter of memory and
// layout. So the size may be given with one of the others, and the third follows:
//
//   batch_seconds = 640, micro_batch_seconds = 32      20 micro-batches
//   batch_seconds = 640, micro_batches = 16            of 40 s each
//   batch_seconds = 640                                20 of 32 s, or more if lanes are more
//
// All three may be given if they agree. A step that is no multiple of its micro-batches is refused,
// as it would be silently rounded.

namespace penstock::configs {
namespace {

constexpr double kRounding = 1e-9;  // relative

// Upper bounds of data.micro_batches and data.micro_batch_seconds.
constexpr double kMaxMicroBatches = 65536, kMaxSeconds = 86400;

/// Returns the smallest number of micro-batches of at most `seconds`. It must fit an int.
int min(double batch_seconds, double seconds) {
  return static_cast<int>(std::max(1.0, std::ceil(batch_seconds / seconds * (1 - kRounding))));
}

/// Returns the fault of a step that is no multiple, with the next smaller one, which has at least
/// one micro-batch.
std::string no_multiple(const DataConfig& data) {
  const double below = std::floor(data.batch_seconds / data.micro_batch_seconds);
  const double fits = std::max(1.0, below) * data.micro_batch_seconds;
  return fmt::format(
      "data.batch_seconds = {:g} is no multiple of data.micro_batch_seconds = {:g}: set it to "
      "{:g}, "
      "or set data.micro_batches instead of data.micro_batch_seconds",
      data.batch_seconds, data.micro_batch_seconds, fits);
}

}  // namespace

bool holds_step(double batch_seconds, double micro_batch_seconds, int micro_batches) {
  return std::abs(micro_batch_seconds * micro_batches - batch_seconds) <= kRounding * batch_seconds;
}

std::string divide_step(Config& config, const NamedMicroBatches& named) {
  DataConfig& data = config.data;
  if (!(data.batch_seconds > 0)) return "";
  if (named.seconds && named.number) {
    if (holds_step(data.batch_seconds, data.micro_batch_seconds, data.micro_batches)) return "";
    return fmt::format(
        "data.batch_seconds = {:g}, but data.micro_batches = {} of data.micro_batch_seconds = {:g} "
        "hold {:g} s: leave one of the three out",
        data.batch_seconds, data.micro_batches, data.micro_batch_seconds,
        data.micro_batches * data.micro_batch_seconds);
  }
  if (named.seconds && data.batch_seconds / data.micro_batch_seconds > kMaxMicroBatches)
    return fmt::format(
        "data.batch_seconds = {:g} holds more than {} micro-batches of {:g} s: make these longer",
        data.batch_seconds, kMaxMicroBatches, data.micro_batch_seconds);
  // Each lane needs a micro-batch. Lanes of 0 mean as many as replicas.
  const int lanes =
      config.trainer.lanes > 0 ? config.trainer.lanes : std::max(1, config.pipeline.replicas);
  if (named.seconds)
    data.micro_batches = min(data.batch_seconds, data.micro_batch_seconds);
  else if (!named.number)
    data.micro_batches = std::max(lanes, min(data.batch_seconds, DataConfig().micro_batch_seconds));
  if (!named.seconds) data.micro_batch_seconds = data.batch_seconds / data.micro_batches;
  if (data.micro_batch_seconds > kMaxSeconds)
    return fmt::format(
        "data.batch_seconds = {:g} in {} makes them longer than {} s: ask for more of them",
        data.batch_seconds, counted(data.micro_batches, "micro-batch", "micro-batches"),
        kMaxSeconds);
  if (holds_step(data.batch_seconds, data.micro_batch_seconds, data.micro_batches)) return "";
  return no_multiple(data);
}

}  // namespace penstock::configs
