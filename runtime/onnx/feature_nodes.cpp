#include "runtime/onnx/feature_nodes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/data/audio/feature_constants.h"
#include "runtime/data/audio/features.h"
#include "runtime/data/audio/mel.h"

// Frames are gathered from the samples by their indices, and one product computes the Fourier
// transform of all: its matrix holds the window, and for fbank also the subtraction of a frame's
// mean and the pre-emphasis within it, which are linear too. ONNX Runtime computes it in FP64, so
// that quiet channels beside loud ones lose nothing; a matrix of 400 × 514 numbers is small beside
// an encoder. The mel filters are a second product. What depends on the number of samples, such as
// the number of frames, is computed by integers within the graph.

namespace penstock::runtime {
namespace {

using configs::FeatureConfig;

ValueName joined(OnnxGraph& graph, const std::vector<ValueName>& parts) {
  return graph.node("Concat", parts, {{"axis", std::int64_t{0}}});
}

/// Adds `count` zeros of FP64.
ValueName zeros(OnnxGraph& graph, std::int64_t count) {
  return graph.constant("zeros", {count}, std::vector<double>(static_cast<std::size_t>(count)));
}

/// Adds x[t] - share · x[t - 1]; the first sample stays.
ValueName preemphasised(OnnxGraph& graph, const ValueName& x, double share) {
  const ValueName before =
      joined(graph, {graph.constant("silence", {1}, std::vector<float>{0}),
                     sliced(graph, x, 0, graph.integers({0}), graph.integers({-1}))});
  return graph.node("Sub", {x, graph.node("Mul", {before, graph.real(static_cast<float>(share))})});
}

/// Adds the number of frames before each group of features.stack becomes one, from that of samples.
ValueName count_frames(OnnxGraph& graph, const FeatureConfig& config, const ValueName& samples) {
  const FrameGeometry geometry = frame_geometry(config);
  const bool fbank = config.kind == "fbank";
  ValueName n = samples;
  if (min_samples(config) > 0) n = graph.node("Max", {n, graph.integers({min_samples(config)})});
  const std::int64_t less = fbank ? geometry.window : geometry.fft % 2;
  n = graph.node("Div",
                 {graph.node("Sub", {n, graph.integers({less})}), graph.integers({geometry.hop})});
  if (fbank || (config.last_frame && !is_whisper(config)))
    n = graph.node("Add", {n, graph.integers({1})});
  return graph.node("Max", {n, graph.integers({config.stack})});
}

/// Adds samples of FP64 between mirrored margins, the missing ones up to min_samples() silent.
ValueName mirrored(OnnxGraph& graph, const FeatureConfig& config, const ValueName& x,
                   const ValueName& n) {
  const std::int64_t margin = frame_geometry(config).fft / 2;
  ValueName length = n;
  if (min_samples(config) > 0)
    length = graph.node("Max", {n, graph.integers({min_samples(config)})});
  const ValueName last = graph.node("Sub", {length, graph.integers({1})});
  const ValueName period =
      graph.node("Max", {graph.node("Mul", {last, graph.integers({2})}), graph.integers({1})});
  const ValueName all = count_up(graph, graph.node("Add", {length, graph.integers({2 * margin})}));
  const ValueName place = graph.node("Abs", {graph.node("Sub", {all, graph.integers({margin})})});
  const ValueName turn = graph.node("Mod", {place, period});
  const ValueName from = graph.node("Min", {turn, graph.node("Sub", {period, turn})});
  const ValueName silent_from_end = graph.node("Min", {from, n});
  return graph.node("Gather", {joined(graph, {x, zeros(graph, 1)}), silent_from_end});
}

/// Adds the samples of each frame under the window, FP64 [frames, window].
ValueName cut_frames(OnnxGraph& graph, const FeatureConfig& config, const ValueName& samples) {
  const FrameGeometry geometry = frame_geometry(config);
  const ValueName n = row_count(graph, samples);
  ValueName x = cast(graph, samples, layers::DType::f64);
  // The first frame begins at `start`, counted from the first sample.
  const std::int64_t margin = config.kind == "fbank" ? 0 : (geometry.fft - geometry.window) / 2;
  std::int64_t start = config.kind == "fbank" ? 0 : margin - geometry.fft / 2;
  std::vector<ValueName> parts;
  if (is_whisper(config)) {
    x = mirrored(graph, config, x, n);
    start = margin;
  }
  if (start < 0) parts.push_back(zeros(graph, -start));
  parts.push_back(x);
  parts.push_back(zeros(graph, geometry.fft + geometry.window + geometry.hop * config.stack));
  std::vector<std::int64_t> under(static_cast<std::size_t>(geometry.window));
  for (std::size_t i = 0; i < under.size(); ++i)
    under[i] = static_cast<std::int64_t>(i) + std::max<std::int64_t>(start, 0);
  const ValueName frames = count_up(graph, count_frames(graph, config, n));
  const ValueName starts = graph.node(
      "Unsqueeze",
      {graph.node("Mul", {frames, graph.integers({geometry.hop})}), graph.integers({1})});
  const ValueName places = graph.node("Add", {starts, graph.integers(under)});
  return graph.node("Gather", {joined(graph, parts), places});
}

/// The cosines and sines of one sample under the window, of all bins.
using Row = std::vector<double>;

/// Returns the Fourier transform of each sample under the window, times its height there.
std::vector<Row> transform_rows(const FeatureConfig& config, const FrameGeometry& geometry) {
  const std::vector<double> heights = make_window(config.window, geometry.window);
  const auto bins = static_cast<std::size_t>(geometry.fft / 2 + 1);
  std::vector<Row> rows(heights.size(), Row(2 * bins));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // Other kinds than fbank have windows of FP32.
    const double height = config.kind == "fbank" ? heights[i] : static_cast<float>(heights[i]);
    for (std::size_t k = 0; k < bins; ++k) {
      const auto turns = static_cast<double>(i * k % static_cast<std::size_t>(geometry.fft));
      const double angle = 2 * std::numbers::pi * turns / static_cast<double>(geometry.fft);
      rows[i][k] = height * std::cos(angle);
      rows[i][bins + k] = -height * std::sin(angle);
    }
  }
  return rows;
}

/// Turns rows for prepared samples into rows for the samples themselves. Kaldi prepares a frame by
/// p_i = 2^15 · (x_i - m - e · (x_{i-1} - m)), where m is the frame's mean, e the pre-emphasis, and
/// the first sample its own predecessor. So x_j is a term of p_j, of p_{j+1} and of every mean.
std::vector<Row> with_kaldis_preparation(const std::vector<Row>& rows, double preemphasis) {
  const std::size_t count = rows.size(), width = rows.front().size();
  std::vector<Row> all = rows;
  for (std::size_t k = 0; k < width; ++k) {
    double sum = 0;
    for (const Row& row : rows) sum += row[k];
    const double mean_term = (1 - preemphasis) * sum / static_cast<double>(count);
    for (std::size_t j = 0; j < count; ++j) {
      double term = rows[j][k] - mean_term;
      if (j + 1 < count) term -= preemphasis * rows[j + 1][k];
      if (j == 0) term -= preemphasis * rows[0][k];
      all[j][k] = kSampleSize * term;
    }
  }
  return all;
}

/// Adds |X|² of each frame, FP64 [frames, bins].
ValueName add_power(OnnxGraph& graph, const FeatureConfig& config, const ValueName& frames) {
  const FrameGeometry geometry = frame_geometry(config);
  std::vector<Row> rows = transform_rows(config, geometry);
  if (config.kind == "fbank") rows = with_kaldis_preparation(rows, config.preemphasis);
  const layers::Shape shape{geometry.window, static_cast<std::int64_t>(rows.front().size())};
  std::vector<double> matrix;
  for (const Row& row : rows) matrix.insert(matrix.end(), row.begin(), row.end());
  const ValueName spectrum =
      graph.node("MatMul", {frames, graph.constant("fourier", shape, std::move(matrix))});
  const std::vector<ValueName> parts = graph.nodes(
      "Split", {graph.node("Mul", {spectrum, spectrum})}, {{"axis", std::int64_t{1}}}, 2);
  return graph.node("Add", {parts[0], parts[1]});
}

/// Adds log mel energies of FP32, [frames, mels].
ValueName add_mels(OnnxGraph& graph, const FeatureConfig& config, const ValueName& power) {
  const std::int64_t fft = frame_geometry(config).fft;
  const bool fbank = config.kind == "fbank";
  const std::vector<MelFilter> filters =
      (fbank ? kaldi_mel_filters : mel_filters)(config.mels, config.sample_rate, fft);
  const std::size_t mels = filters.size();
  std::vector<float> weights(static_cast<std::size_t>(fft / 2 + 1) * mels);
  for (std::size_t m = 0; m < mels; ++m)
    for (std::size_t i = 0; i < filters[m].weights.size(); ++i)
      weights[(static_cast<std::size_t>(filters[m].first) + i) * mels + m] = filters[m].weights[i];
  const ValueName sums = graph.node(
      "MatMul", {cast(graph, power, layers::DType::f32),
                 graph.constant("mel filters", {fft / 2 + 1, config.mels}, std::move(weights))});
  if (fbank) return graph.node("Log", {graph.node("Max", {sums, graph.real(kFbankFloor)})});
  if (!is_whisper(config))
    return graph.node("Log", {graph.node("Add", {sums, graph.real(kMelTerm)})});
  const ValueName log = graph.node("Log", {graph.node("Max", {sums, graph.real(kWhisperFloor)})});
  return graph.node("Mul", {log, graph.real(static_cast<float>(std::numbers::log10e))});
}

/// Cuts what lies 8 powers of ten below the recording's loudest number, and scales as Whisper does.
ValueName scaled_as_whisper(OnnxGraph& graph, const ValueName& x) {
  const ValueName most = graph.node("ReduceMax", {x}, {{"keepdims", std::int64_t{0}}});
  const ValueName cut = graph.node("Max", {x, graph.node("Sub", {most, graph.real(8)})});
  return graph.node("Div", {graph.node("Add", {cut, graph.real(4)}), graph.real(4)});
}

/// Holds x - mean and Σ (x - mean)², of all numbers or of each channel's, in FP64.
struct Centred {
  ValueName x, squares;
};

Centred centred(OnnxGraph& graph, const ValueName& x, const std::vector<std::int64_t>& axes) {
  const ValueName c = graph.node("Sub", {x, graph.node("ReduceMean", {x}, {{"axes", axes}})});
  return {c, graph.node("ReduceSum", {graph.node("Mul", {c, c}), graph.integers(axes)})};
}

/// Returns the number of elements less 1, at least 1, for an unbiased variance.
ValueName count_less_one(OnnxGraph& graph, const ValueName& count) {
  const ValueName less = graph.node("Sub", {count, graph.integers({1})});
  return cast(graph, graph.node("Max", {less, graph.integers({1})}), layers::DType::f64);
}

/// Adds (x - mean) / deviation of all numbers, or zeros if they do not vary.
ValueName normalised_utterance(OnnxGraph& graph, const ValueName& x) {
  const Centred c = centred(graph, x, {0, 1});
  const ValueName count = graph.node("Size", {x});
  const ValueName deviation =
      graph.node("Sqrt", {graph.node("Div", {c.squares, count_less_one(graph, count)})});
  const ValueName varies = graph.node("Greater", {deviation, graph.wide_real(kNoVariation)});
  const ValueName divided =
      graph.node("Div", {c.x, graph.node("Where", {varies, deviation, graph.wide_real(1)})});
  return graph.node("Where", {varies, divided, graph.wide_real(0)});
}

/// Adds (x - mean) / deviation of each channel.
ValueName normalised_channels(OnnxGraph& graph, const FeatureConfig& config, const ValueName& x) {
  const Centred c = centred(graph, x, {0});
  ValueName variance = graph.node("Div", {c.squares, count_less_one(graph, row_count(graph, x))});
  const bool fbank = config.kind == "fbank";
  if (fbank) variance = graph.node("Add", {variance, graph.wide_real(config.epsilon)});
  ValueName deviation = graph.node("Sqrt", {variance});
  if (!fbank) deviation = graph.node("Add", {deviation, graph.wide_real(kDeviationTerm)});
  return graph.node("Div", {c.x, deviation});
}

/// Joins `stack` neighbouring frames, and drops those left over.
ValueName stacked(OnnxGraph& graph, const FeatureConfig& config, const ValueName& x) {
  const ValueName stack = graph.integers({config.stack});
  const ValueName whole =
      graph.node("Mul", {graph.node("Div", {row_count(graph, x), stack}), stack});
  return reshaped(graph, sliced(graph, x, 0, graph.integers({0}), whole),
                  {-1, feature_bins(config)});
}

}  // namespace

ValueName add_level(OnnxGraph& graph, const ValueName& samples, double level, double epsilon) {
  const ValueName x = cast(graph, samples, layers::DType::f64);
  const std::vector<NodeAttribute> along = {{"axes", std::vector<std::int64_t>{0}}};
  const ValueName c = graph.node("Sub", {x, graph.node("ReduceMean", {x}, along)});
  const ValueName variance = graph.node("ReduceMean", {graph.node("Mul", {c, c})}, along);
  const ValueName deviation =
      graph.node("Sqrt", {graph.node("Add", {variance, graph.wide_real(epsilon)})});
  const ValueName y = graph.node("Div", {c, deviation});
  return cast(graph, level == 1 ? y : graph.node("Mul", {y, graph.wide_real(level)}),
              layers::DType::f32);
}

bool level_matters(const FeatureConfig& config) {
  return config.kind == "spectrogram" || is_whisper(config);
}

ValueName add_features(OnnxGraph& graph, const FeatureConfig& config, const ValueName& samples) {
  graph.begin("features");
  if (config.kind == "waveform")
    return graph.node("Unsqueeze",
                      {add_level(graph, samples, 1, config.epsilon), graph.integers({1})});
  const bool sharper = config.preemphasis != 0 && config.kind != "fbank";
  const ValueName x = sharper ? preemphasised(graph, samples, config.preemphasis) : samples;
  const ValueName power = add_power(graph, config, cut_frames(graph, config, x));
  ValueName rows;
  if (is_whisper(config)) {
    rows = scaled_as_whisper(graph, add_mels(graph, config, power));
  } else {
    rows = config.kind == "spectrogram"
               ? graph.node("Log",
                            {graph.node("Add", {graph.node("Sqrt", {power}), graph.wide_real(1)})})
               : cast(graph, add_mels(graph, config, power), layers::DType::f64);
    rows = config.normalise == "channel" ? normalised_channels(graph, config, rows)
                                         : normalised_utterance(graph, rows);
    rows = cast(graph, rows, layers::DType::f32);
  }
  return config.stack == 1 ? rows : stacked(graph, config, rows);
}

}  // namespace penstock::runtime
