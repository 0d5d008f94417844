#include "runtime/profiling/timed_layer.h"

#include <algorithm>
#include <chrono>

#include "layers/initialise.h"

namespace penstock::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kCalls = 64, kMin = 3;

/// Returns the largest magnitude of an initial weight; 1 for weights that start as a constant.
float largest_weight(const layers::ParamDecl& param) {
  const layers::Initialiser& start = param.initialiser;
  return start.kind == layers::Initialiser::Kind::uniform ? static_cast<float>(start.value) : 1;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Returns how many calls of `one_s` seconds are launched back to back, such that
/// lower_quartile_seconds() still takes several samples within `min_s`.
int calls_together(double one_s, double min_s) {
  constexpr double kSamples = 16, kMax = 64;
  return static_cast<int>(std::clamp(min_s / (kSamples * one_s), 1.0, kMax));
}

}  // namespace

// Other programs only add time, so the lower samples are nearer to the truth. But the lowest of all
// depends on how many there are, and a quartile does not.
double lower_quartile_seconds(const std::function<void()>& call, double min_s) {
  call();
  std::vector<double> seconds;
  const auto begin = Clock::now();
  while (seconds.size() < kMin || (seconds.size() < kCalls && seconds_since(begin) < min_s)) {
    const auto one = Clock::now();
    call();
    seconds.push_back(seconds_since(one));
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 4];
}

TimedLayer::TimedLayer(layers::Backend& backend, const layers::Layer& layer,
                       const layers::BackendSizes& sizes, const layers::FramesDecl& input)
    : backend_(backend),
      layer_(layer),
      input_{sizes.compute, {input}},
      plan_(layer.plan(input_, sizes)),
      stream_(backend.make_stream()) {
  for (const layers::ParamDecl& param : plan_.params)
    weights_.push_back(take(param.full_precision ? layers::DType::f32 : sizes.compute, param.shape,
                            largest_weight(param)));
  x_.frames = {{take(sizes.compute, input.shape(), 1), input_.frames[0].lengths}};
  for (const layers::FramesDecl& out : plan_.output.frames)
    y_.frames.push_back({take(plan_.output.dtype, out.shape(), 0), out.lengths});
  for (const layers::SavedDecl& saved : plan_.saved) {
    using Kind = layers::SavedDecl::Kind;
    if (saved.kind == Kind::own)
      saved_.push_back(take(saved.dtype, saved.shape, 0));
    else if (saved.kind == Kind::none)
      saved_.emplace_back();
    else
      saved_.push_back(saved.kind == Kind::input || saved.kind == Kind::input_gradient
                           ? x_.only().x_FC
                           : y_.only().x_FC);
  }
  buffers_.push_back(backend.allocate(std::max<std::size_t>(plan_.workspace.forward, 1)));
}

layers::Tensor TimedLayer::take(layers::DType dtype, const layers::Shape& shape, float max) {
  layers::Tensor tensor{nullptr, dtype, shape};
  layers::Buffer& buffer = buffers_.emplace_back(backend_.allocate(tensor.bytes()));
  backend_.zero(*stream_, buffer.data(), tensor.bytes());
  tensor.data = buffer.data();
  if (max > 0) fill_with_noise(backend_, *stream_, tensor, max);
  return tensor;
}

// The first measurement finds how long one call takes, and decides how many are launched together
// in the second.
double TimedLayer::seconds(double min_s) {
  const std::span<std::byte> workspace{buffers_.back().data(), plan_.workspace.forward};
  layers::Context context{.backend = backend_,
                          .stream = *stream_,
                          .lengths = input_.frames[0].lengths,
                          .workspace = workspace};
  const auto run = [&](int calls) {
    const layers::WorkspaceScope lending(*stream_, workspace);
    for (int call = 0; call < calls; ++call)
      layer_.forward(context, {weights_, {}}, x_, y_, saved_);
    backend_.synchronize(*stream_);
  };
  const int calls = calls_together(lower_quartile_seconds([&] { run(1); }, 0), min_s);
  return lower_quartile_seconds([&] { run(calls); }, min_s) / calls;
}

}  // namespace penstock::runtime
