#include <fmt/format.h>

#include <algorithm>

#include "tools/gpu/facts/device_tensors.h"
#include "tools/gpu/facts/facts.h"
#include "tools/gpu/facts/stopwatch.h"

// Attention is measured alone, without the products before and after it. All rows of a table have
// about the same number of frames, `all_frames`, so long utterances are few. The rows differ by the
// part of the time that grows with frames².

namespace penstock::tools {
namespace {

using layers::DType;

// Several calls lie between two marks of the stream, so that a mark's own time is divided among
// them.
constexpr int kCalls = 5;
constexpr const char* kColumns = "{:<9} {:<5} {:>5} {:>6} {:>11} {:>5} {:>10} {:>6} {:>10} {:>6}";

/// One layer's attention over utterances of equal length, with noise as input.
class Attention {
 public:
  Attention(layers::Backend& backend, layers::CudaStream& stream, const AttentionCase& of,
            std::int64_t frames, std::int64_t utterances)
      : backend_(backend),
        stream_(stream),
        memory_(backend, stream),
        lengths_(static_cast<std::size_t>(utterances), frames) {
    const std::int64_t channels = of.heads * of.head_channels, rows = frames * utterances;
    geometry_ = {.heads = of.heads, .channels = channels, .lengths = lengths_};
    qkv_ = memory_.noise(of.dtype, {rows, 3 * channels});
    y_ = memory_.zeros(of.dtype, {rows, channels});
    dy_ = memory_.noise(of.dtype, {rows, channels});
    dqkv_ = memory_.zeros(of.dtype, {rows, 3 * channels});
    log_sums_ = memory_.zeros(DType::f32, {of.heads, rows});
    if (of.relative) {
      relative_ = {memory_.noise(of.dtype, {geometry_.distances(), channels}),
                   memory_.noise(DType::f32, {channels}), memory_.noise(DType::f32, {channels})};
      dr_ = memory_.zeros(DType::f32, {geometry_.distances(), channels});
      du_ = memory_.zeros(DType::f32, {channels});
      dv_ = memory_.zeros(DType::f32, {channels});
    }
    const layers::Workspace bytes =
        layers::attention_workspace({layers::DeviceKind::cuda, of.dtype}, geometry_, of.relative);
    // Forward and backward run one after the other, and share the workspace.
    workspace_ = memory_.memory(std::max(bytes.forward, bytes.backward_input));
  }

  void forward() const {
    backend_.run(stream_, layers::AttentionForward{.geometry = geometry_,
                                                   .qkv_FP = qkv_,
                                                   .relative = relative_,
                                                   .dropout = {},
                                                   .y_FC = y_,
                                                   .log_sums_HF = log_sums_,
                                                   .workspace = workspace_});
  }
  void backward() const {
    backend_.run(stream_, layers::AttentionBackward{.geometry = geometry_,
                                                    .qkv_FP = qkv_,
                                                    .relative = relative_,
                                                    .dropout = {},
                                                    .y_FC = y_,
                                                    .log_sums_HF = log_sums_,
                                                    .dy_FC = dy_,
                                                    .dqkv_FP = dqkv_,
                                                    .dr_XC = dr_,
                                                    .du_C = du_,
                                                    .dv_C = dv_,
                                                    .workspace = workspace_});
  }

 private:
  layers::Backend& backend_;
  layers::CudaStream& stream_;
  DeviceTensors memory_;
  std::vector<std::int64_t> lengths_;
  layers::AttentionGeometry geometry_;
  layers::Tensor qkv_, y_, dy_, dqkv_, log_sums_, dr_, du_, dv_;
  layers::RelativePositions relative_;
  std::span<std::byte> workspace_;
};

/// Returns the microseconds of a call on the device.
template <class Call>
double time_of_call(layers::CudaStream& stream, const Call& call) {
  return time_of(stream,
                 [&] {
                   for (int i = 0; i < kCalls; ++i) call();
                 })
             .device /
         kCalls;
}

}  // namespace

// Operations are counted as in FlashAttention's papers: 4 · frames² · channels per utterance in
// forward, 2.5 times as many in backward, whatever the positions.
void tell_attention(layers::Backend& backend, const std::vector<AttentionCase>& cases,
                    const std::vector<std::int64_t>& lengths, std::int64_t all_frames,
                    const Say& say) {
  layers::CudaStream stream({});
  say(fmt::format(kColumns, "# kind", "in", "head", "frames", "utterances", "heads", "forward µs",
                  "TF/s", "back µs", "TF/s"));
  for (const AttentionCase& of : cases)
    for (const std::int64_t frames : lengths) {
      const std::int64_t utterances = std::max<std::int64_t>(1, all_frames / frames);
      const Attention attention(backend, stream, of, frames, utterances);
      const double forward = time_of_call(stream, [&] { attention.forward(); });
      const double backward = time_of_call(stream, [&] { attention.backward(); });
      const double operations =
          4.0 * static_cast<double>(utterances * frames * frames * of.heads * of.head_channels);
      say(fmt::format(
          kColumns, of.relative ? "relative" : "plain", layers::name_of(of.dtype), of.head_channels,
          frames, utterances, of.heads, fmt::format("{:.1f}", forward),
          fmt::format("{:.1f}", 1e-6 * operations / forward), fmt::format("{:.1f}", backward),
          fmt::format("{:.1f}", 2.5e-6 * operations / backward)));
    }
}

}  // namespace penstock::tools
