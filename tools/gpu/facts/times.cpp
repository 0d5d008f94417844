#include <fmt/format.h>

#include "layers/cuda/products/product.h"
#include "layers/cuda/recurrence/recurrence_sizes.h"
#include "tools/gpu/facts/facts.h"
#include "tools/gpu/facts/recurrence.h"
#include "tools/gpu/facts/stopwatch.h"

// Host times show if a recurrence is bound by launches: a step whose enqueueing takes longer than
// its kernels leaves the device idle. An empty launch is the least that any kernel costs.

namespace penstock::tools {
namespace {

namespace cuda = layers::cuda;

// Many calls lie between two marks, as a step's product takes only some µs.
constexpr int kCalls = 200;
constexpr const char* kColumns = "{:<44} {:<5} {:>10} {:>9} {:>9}";

/// Table prints rows of one case, with the columns of kColumns.
class Table {
 public:
  Table(const RecurrenceCase& of, const Say& say) : of_(of), say_(say) {
    say(fmt::format(kColumns, "# of", "in", "utterances", "host µs", "device µs"));
  }
  void row(std::string_view what, std::int64_t utterances, const Times& times) const {
    say_(fmt::format(kColumns, fmt::format("{} {}", of_.name, what), layers::name_of(of_.dtype),
                     utterances, fmt::format("{:.2f}", times.host),
                     fmt::format("{:.2f}", times.device)));
  }

 private:
  const RecurrenceCase& of_;
  const Say& say_;
};

/// Returns the time of one of many equal calls.
Times time_of_calls(layers::CudaStream& stream, const std::function<void()>& call) {
  return time_of(stream,
                 [&] {
                   for (int i = 0; i < kCalls; ++i) call();
                 }) /
         kCalls;
}

/// Returns the time of a step in a pass: the difference between a longer and a shorter recurrence,
/// divided by the difference in steps.
template <class Pass>
Times time_of_step(layers::CudaStream& stream, const RecurrenceCase& of, const Recurrence& few,
                   const Recurrence& more, const Pass& pass) {
  const Times shorter = time_of(stream, [&] { pass(few); });
  const Times longer = time_of(stream, [&] { pass(more); });
  return (longer - shorter) / static_cast<double>(of.more_frames - of.frames);
}

}  // namespace

void tell_times(layers::Backend& backend, const RecurrenceCase& of,
                const std::vector<std::int64_t>& utterances, const Say& say) {
  layers::CudaStream stream({});
  cuda::Products products(layers::Fp32Products::full);
  const Table table(of, say);
  const Times launch = time_of_calls(stream, [&] { launch_nothing(stream); });
  say(fmt::format(kColumns, "empty launch", "-", "-", fmt::format("{:.2f}", launch.host),
                  fmt::format("{:.2f}", launch.device)));
  for (const std::int64_t count : utterances) {
    const Recurrence few(backend, stream, of, {count, of.frames});
    const Recurrence more(backend, stream, of, {count, of.more_frames});
    const cuda::Product forward = few.product_forward(), backward = few.product_backward();
    const auto time_of_product = [&](const cuda::Product& product) {
      return time_of_calls(stream, [&] { products.run(stream, product); });
    };
    const Times ahead = time_of_product(forward), back = time_of_product(backward);
    const Times step_ahead = time_of_step(stream, of, few, more, std::mem_fn(&Recurrence::forward));
    const Times step_back = time_of_step(stream, of, few, more, std::mem_fn(&Recurrence::backward));
    table.row("product forward", count, ahead);
    table.row("product backward", count, back);
    const std::string_view kind = few.fused() ? "fused step" : "step by products";
    table.row(fmt::format("{} forward", kind), count, step_ahead);
    table.row(fmt::format("{} backward", kind), count, step_back);
    if (few.fused()) continue;
    table.row("gates: the step less its product, forward", count, step_ahead - ahead);
    table.row("gates: the step less its product, backward", count, step_back - back);
  }
}

}  // namespace penstock::tools
