#include "runtime/data/audio/features.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <type_traits>
#include <unsupported/Eigen/FFT>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/rules.h"
#include "runtime/data/audio/feature_constants.h"
#include "runtime/data/audio/mel.h"

namespace penstock::runtime {
namespace {

bool is_waveform(const configs::FeatureConfig& config) { return config.kind == "waveform"; }
bool is_fbank(const configs::FeatureConfig& config) { return config.kind == "fbank"; }
bool pads_to_thirty(const configs::FeatureConfig& config) { return config.kind == "whisper-30s"; }
bool pads_to_half(const configs::FeatureConfig& config) { return config.kind == "whisper-0.5s"; }
bool has_mels(const configs::FeatureConfig& config) {
  return config.kind == "log-mel" || is_fbank(config) || is_whisper(config);
}

/// Prepares the samples under a window as Kaldi's fbank does. Scales them to 16-bit audio,
/// subtracts their mean, and computes x[t] - preemphasis · x[t - 1]. The first sample is its own
/// predecessor.
void prepare_as_kaldi(std::span<double> samples, double preemphasis) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  const double mean = sum / static_cast<double>(samples.size());
  double before = samples.front() - mean;
  for (double& sample : samples) {
    const double centred = sample - mean;
    sample = (centred - preemphasis * before) * kSampleSize;
    before = centred;
  }
}

/// Windows samples and computes their Fourier transform in FP32 or FP64.
template <typename Number>
struct Fourier {
  Fourier(const std::vector<double>& heights, std::int64_t points)
      : window(heights.begin(), heights.end()),
        frame(static_cast<std::size_t>(points)),
        spectrum(static_cast<std::size_t>(points / 2 + 1)) {
    fft.SetFlag(fft.HalfSpectrum);
  }

  std::vector<Number> window, frame;
  std::vector<std::complex<Number>> spectrum;
  Eigen::FFT<Number> fft;
};

using AnyFourier = std::variant<Fourier<float>, Fourier<double>>;

/// Chooses the precision of the transform. Pre-emphasis leaves the low channels of an fbank far
/// below the loudest bin, where rounding in FP32 is significant. So fbank uses FP64, as
/// transformers does.
AnyFourier make_fourier(const configs::FeatureConfig& config, const FrameGeometry& geometry) {
  const std::vector<double> window = make_window(config.window, geometry.window);
  if (is_fbank(config)) return Fourier<double>(window, geometry.fft);
  return Fourier<float>(window, geometry.fft);
}

/// Normalises samples to mean 0 and variance 1: (x - mean) / √(variance + epsilon). transformers'
/// Wav2Vec2FeatureExtractor uses an epsilon of 1e-7, its OmniASRFeatureExtractor 1e-5.
void normalise_samples(std::span<const float> samples, double epsilon, std::span<float> x) {
  double sum = 0, squares = 0;
  for (const float sample : samples) sum += sample;
  const double count = std::max<double>(static_cast<double>(samples.size()), 1);
  const double mean = sum / count;
  for (const float sample : samples) squares += (sample - mean) * (sample - mean);
  const double scale = 1 / std::sqrt(squares / count + epsilon);
  std::ranges::transform(samples, x.begin(),
                         [&](float sample) { return static_cast<float>((sample - mean) * scale); });
}

/// Returns x[t] - share · x[t - 1]; the first sample stays.
std::vector<float> preemphasised(std::span<const float> samples, double share) {
  std::vector<float> sharper(samples.begin(), samples.end());
  for (std::size_t i = 1; i < sharper.size(); ++i)
    sharper[i] = samples[i] - static_cast<float>(share) * samples[i - 1];
  return sharper;
}

/// Returns `length` samples, the missing ones silent, between mirrored margins: the sample before
/// the first one is the second one. So torch.stft pads in its mode "reflect".
std::vector<float> mirrored(std::span<const float> samples, std::int64_t length,
                            std::int64_t margin) {
  std::vector<float> all(static_cast<std::size_t>(length + 2 * margin));
  const std::int64_t period = std::max<std::int64_t>(2 * (length - 1), 1);
  for (std::int64_t i = 0; i < std::ssize(all); ++i) {
    const std::int64_t turn = std::abs(i - margin) % period;
    const std::int64_t from = std::min(turn, period - turn);
    all[static_cast<std::size_t>(i)] =
        from < std::ssize(samples) ? samples[static_cast<std::size_t>(from)] : 0;
  }
  return all;
}

/// Cuts what lies 8 powers of ten below the utterance's loudest number, and scales as Whisper does.
void scale_as_whisper(std::span<float> x_FC) {
  const float least = *std::ranges::max_element(x_FC) - 8;
  for (float& x : x_FC) x = (std::max(x, least) + 4) / 4;
}

// Subtracting the mean before squaring, in FP64, keeps the variance accurate even if the mean is
// large.
void normalise_utterance(std::span<float> x_FC) {
  double sum = 0, squares = 0;
  for (const float x : x_FC) sum += x;
  const double count = static_cast<double>(x_FC.size());
  const double mean = sum / count;
  for (const float x : x_FC) squares += (x - mean) * (x - mean);
  const double deviation = std::sqrt(squares / std::max(count - 1, 1.0));
  const double scale = deviation > kNoVariation ? 1 / deviation : 0;
  for (float& x : x_FC) x = static_cast<float>((x - mean) * scale);
}

/// Small numbers that keep the scale of a constant channel finite.
struct Epsilons {
  double variance = 0, deviation = 0;
};

// A channel's numbers lie `channels` apart, since a frame's channels are adjacent.
void normalise_channels(std::span<float> x_FC, int channels, const Epsilons& added) {
  const double frames = static_cast<double>(x_FC.size()) / channels;
  const auto each = [&](std::size_t channel, const auto& use) {
    for (std::size_t i = channel; i < x_FC.size(); i += static_cast<std::size_t>(channels))
      use(x_FC[i]);
  };
  for (std::size_t channel = 0; channel < static_cast<std::size_t>(channels); ++channel) {
    double sum = 0, squares = 0;
    each(channel, [&](float x) { sum += x; });
    const double mean = sum / frames;
    each(channel, [&](float x) { squares += (x - mean) * (x - mean); });
    const double variance = squares / std::max(frames - 1, 1.0) + added.variance;
    const double scale = 1 / (std::sqrt(variance) + added.deviation);
    each(channel, [&](float& x) { x = static_cast<float>((x - mean) * scale); });
  }
}

/// Returns the channels of a frame before stacking.
int base_bins(const configs::FeatureConfig& config) {
  if (is_waveform(config)) return 1;
  return has_mels(config) ? config.mels : static_cast<int>(frame_geometry(config).fft / 2 + 1);
}

}  // namespace

std::int64_t min_samples(const configs::FeatureConfig& config) {
  constexpr std::int64_t kSeconds = 30;
  if (pads_to_half(config)) return config.sample_rate / 2;
  return pads_to_thirty(config) ? kSeconds * config.sample_rate : 0;
}

// Point i of a window of period P is share - (1 - share) cos(2πi / P): share is 0.5 for Hann and
// 0.54 for Hamming. A periodic window has P = size, a symmetric one P = size - 1. Povey's is a
// symmetric Hann window to the power 0.85.
std::vector<double> make_window(const std::string& name, std::int64_t size) {
  const double share = name == "hamming" ? 0.54 : 0.5;
  const bool povey = name == "povey", symmetric = povey || name == "hann-symmetric";
  const std::int64_t period = symmetric ? size - 1 : size;
  std::vector<double> window(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    const double height =
        share - (1 - share) * std::cos(2 * std::numbers::pi * static_cast<double>(i) /
                                       static_cast<double>(period));
    window[static_cast<std::size_t>(i)] = povey ? std::pow(height, 0.85) : height;
  }
  return window;
}

FrameGeometry frame_geometry(const configs::FeatureConfig& config) {
  const auto in_samples = [&](double milliseconds) {
    return static_cast<std::int64_t>(std::llround(milliseconds * config.sample_rate / 1000));
  };
  FrameGeometry geometry{in_samples(config.window_ms), in_samples(config.hop_ms), 0};
  geometry.fft = configs::fft_points(config, geometry.window);
  std::string faults;
  if (config.kind != "spectrogram" && !has_mels(config) && !is_waveform(config))
    faults += fmt::format(
        "\n  features.kind is \"{}\", not spectrogram, log-mel, fbank, whisper, whisper-0.5s, "
        "whisper-30s or waveform",
        config.kind);
  if (config.window != "hamming" && config.window != "hann" && config.window != "hann-symmetric" &&
      config.window != "povey")
    faults += fmt::format(
        "\n  features.window is \"{}\", not hamming, hann, hann-symmetric or povey", config.window);
  if (config.normalise != "utterance" && config.normalise != "channel")
    faults +=
        fmt::format("\n  features.normalise is \"{}\", not utterance or channel", config.normalise);
  if (config.sample_rate <= 0) faults += "\n  features.sample_rate must be positive";
  if (geometry.window < 2) faults += "\n  features.window_ms must cover at least two samples";
  if (geometry.hop < 1) faults += "\n  features.hop_ms must cover at least one sample";
  if (geometry.fft < geometry.window)
    faults += fmt::format("\n  features.fft is {}, less than the window's {}", config.fft,
                          counted(geometry.window, "sample"));
  if (has_mels(config) && config.mels < 1) faults += "\n  features.mels must be positive";
  if (config.stack < 1) faults += "\n  features.stack must be positive";
  if (!faults.empty()) throw ConfigError("[features] cannot be used:" + faults);
  return geometry;
}

int feature_bins(const configs::FeatureConfig& config) { return base_bins(config) * config.stack; }

std::int64_t feature_frames(std::int64_t samples, const configs::FeatureConfig& config) {
  return FeatureFrames(config)(samples);
}

FeatureFrames::FeatureFrames(const configs::FeatureConfig& config)
    : waveform_(is_waveform(config)),
      fbank_(is_fbank(config)),
      last_frame_(config.last_frame && !is_whisper(config)),
      stack_(config.stack),
      min_samples_(min_samples(config)) {
  if (!waveform_) geometry_ = frame_geometry(config);
}

std::int64_t FeatureFrames::before_stacking(std::int64_t samples) const {
  if (fbank_)
    return samples < geometry_.window ? 0 : 1 + (samples - geometry_.window) / geometry_.hop;
  return (std::max(samples, min_samples_) - geometry_.fft % 2) / geometry_.hop +
         (last_frame_ ? 1 : 0);
}

std::int64_t FeatureFrames::operator()(std::int64_t samples) const {
  if (waveform_) return samples;
  return std::max<std::int64_t>(before_stacking(samples) / stack_, 1);
}

// Computes one frame at a time: window, Fourier transform, power, then the mel filters and the
// logarithm. Normalisation follows once all frames of the utterance are there.
struct FeatureExtractor::State {
  explicit State(const configs::FeatureConfig& features)
      : config(features),
        geometry(frame_geometry(features)),
        frames(features),
        fourier(make_fourier(features, geometry)),
        power(geometry.fft / 2 + 1),
        row(base_bins(features)) {
    if (has_mels(config))
      filters = (is_fbank(config) ? kaldi_mel_filters : mel_filters)(
          config.mels, config.sample_rate, geometry.fft);
  }

  /// Computes |X|² of frame t into `power`.
  void transform(std::span<const float> samples, std::int64_t t) {
    std::visit([&](auto& chosen) { transform(samples, t, chosen); }, fourier);
  }

  template <typename Number>
  void transform(std::span<const float> samples, std::int64_t t, Fourier<Number>& x) {
    // Kaldi's frames begin at their first sample, and Whisper's have a margin before them already,
    // which makes the transform begin there. Other frames have their middle at sample t · hop:
    // the transform covers `fft` samples around it, and the window begins `margin` after the
    // transform does. Samples before and after the utterance count as zeros.
    const bool fbank = is_fbank(config);
    const std::int64_t margin = fbank ? 0 : (geometry.fft - geometry.window) / 2;
    const std::int64_t middle = fbank || is_whisper(config) ? 0 : geometry.fft / 2;
    const std::int64_t start = t * geometry.hop - middle + margin;
    const std::int64_t from = std::max<std::int64_t>(0, -start);
    const std::int64_t to = std::min(geometry.window, std::ssize(samples) - start);
    std::ranges::fill(x.frame, Number{0});
    const std::span<Number> under = std::span(x.frame).subspan(
        static_cast<std::size_t>(margin), static_cast<std::size_t>(geometry.window));
    if (from < to) std::copy_n(samples.begin() + start + from, to - from, under.begin() + from);
    if constexpr (std::is_same_v<Number, double>) prepare_as_kaldi(under, config.preemphasis);
    for (std::size_t i = 0; i < under.size(); ++i) under[i] *= x.window[i];
    x.fft.fwd(x.spectrum.data(), x.frame.data(), geometry.fft);
    for (std::size_t k = 0; k < x.spectrum.size(); ++k)
      power[static_cast<Eigen::Index>(k)] = static_cast<float>(std::norm(x.spectrum[k]));
  }

  /// Computes `row` from `power`.
  void finish() {
    if (filters.empty()) {
      row = power.sqrt().log1p();
      return;
    }
    const float least = is_fbank(config) ? kFbankFloor : is_whisper(config) ? kWhisperFloor : 0;
    for (std::size_t m = 0; m < filters.size(); ++m) {
      const MelFilter& filter = filters[m];
      float sum = 0;
      for (std::size_t i = 0; i < filter.weights.size(); ++i)
        sum += filter.weights[i] * power[filter.first + static_cast<Eigen::Index>(i)];
      row[static_cast<Eigen::Index>(m)] = least > 0 ? std::max(sum, least) : sum + kMelTerm;
    }
    if (is_whisper(config))
      row = row.log10();
    else
      row = row.log();
  }

  void normalise(std::span<float> x_FC) const {
    if (is_whisper(config))
      scale_as_whisper(x_FC);
    else if (config.normalise != "channel")
      normalise_utterance(x_FC);
    else if (is_fbank(config))
      normalise_channels(x_FC, config.mels, {.variance = config.epsilon});
    else
      normalise_channels(x_FC, static_cast<int>(row.size()), {.deviation = kDeviationTerm});
  }

  configs::FeatureConfig config;
  FrameGeometry geometry;
  FeatureFrames frames;
  AnyFourier fourier;
  // Eigen chooses its instructions by alignment. These arrays are always aligned alike, so a row's
  // bits don't depend on where it is written.
  Eigen::ArrayXf power;
  Eigen::ArrayXf row;
  std::vector<MelFilter> filters;
};

FeatureExtractor::FeatureExtractor(const configs::FeatureConfig& config)
    : state_(std::make_unique<State>(config)) {}
FeatureExtractor::~FeatureExtractor() = default;
FeatureExtractor::FeatureExtractor(FeatureExtractor&&) noexcept = default;
FeatureExtractor& FeatureExtractor::operator=(FeatureExtractor&&) noexcept = default;

void FeatureExtractor::extract(std::span<const float> samples, std::span<float> x_FC) {
  const std::int64_t frames = state_->frames(std::ssize(samples));
  const int bins = feature_bins(state_->config);
  if (std::ssize(x_FC) != frames * bins)
    throw ShapeError(fmt::format("features of {} are {} x {} numbers, not {}",
                                 counted(samples.size(), "sample"), frames, bins, x_FC.size()));
  if (is_waveform(state_->config)) return normalise_samples(samples, state_->config.epsilon, x_FC);
  std::vector<float> sharper;
  if (state_->config.preemphasis != 0 && !is_fbank(state_->config)) {
    sharper = preemphasised(samples, state_->config.preemphasis);
    samples = sharper;
  }
  const std::int64_t left_over =
      state_->frames.before_stacking(std::ssize(samples)) - frames * state_->config.stack;
  if (is_whisper(state_->config)) {
    sharper = mirrored(samples, std::max(std::ssize(samples), min_samples(state_->config)),
                       state_->geometry.fft / 2);
    samples = sharper;
  }
  // Stacked frames lie next to each other already. Left-over frames count for means and deviations
  // and are dropped afterwards.
  std::vector<float> all;
  std::span<float> x = x_FC;
  if (left_over > 0) {
    all.resize(x_FC.size() + static_cast<std::size_t>(left_over * state_->row.size()));
    x = all;
  }
  for (std::int64_t t = 0; t * state_->row.size() < std::ssize(x); ++t) {
    state_->transform(samples, t);
    state_->finish();
    std::ranges::copy(state_->row, x.begin() + t * state_->row.size());
  }
  state_->normalise(x);
  if (left_over > 0) std::copy_n(x.begin(), x_FC.size(), x_FC.begin());
}

}  // namespace penstock::runtime
