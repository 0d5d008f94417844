#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "configs/config.h"

namespace penstock::runtime {

/// A FeatureConfig in samples.
struct FrameGeometry {
  std::int64_t window = 0;  // samples under the window
  std::int64_t hop = 0;     // samples from one frame to the next
  std::int64_t fft = 0;     // samples transformed; the window lies in their middle, or at their
                            // start in fbank
};

/// ConfigError if the keys do not make sense together.
FrameGeometry frame_geometry(const configs::FeatureConfig&);

/// Channels of a frame: fft / 2 + 1 of a spectrogram, `mels` of log-mel and fbank, 1 of a waveform;
/// as many times as frames are stacked.
[[nodiscard]] int feature_bins(const configs::FeatureConfig&);

/// Frames of an utterance of `samples` at the configuration's rate: frames are centred on samples
/// 0, hop, 2 hop, …, as librosa.stft(center=True): 1 + (samples + 2 (fft / 2) - fft) / hop, less 1
/// without features.last_frame. Frames of fbank lie within the utterance (Kaldi's snip_edges):
/// 1 + (samples - window) / hop. This is divided by features.stack. There is 1 frame at least: an
/// utterance that is too short for it is followed by silence. Each sample of a waveform is a frame.
[[nodiscard]] std::int64_t feature_frames(std::int64_t samples, const configs::FeatureConfig&);

/// feature_frames() of many: what samples do not change is found once. ConfigError as
/// frame_geometry.
class FeatureFrames {
 public:
  explicit FeatureFrames(const configs::FeatureConfig&);
  [[nodiscard]] std::int64_t operator()(std::int64_t samples) const;
  /// Frames of which each `features.stack` become one; not of a waveform.
  [[nodiscard]] std::int64_t before_stacking(std::int64_t samples) const;

 private:
  bool waveform_, fbank_, last_frame_;
  std::int64_t stack_;
  FrameGeometry geometry_ = {};
};

/// Makes frames from audio, as librosa does:
/// - the short-time Fourier transform of librosa.stft: centred, zeros beyond both ends, a periodic
///   window (scipy.signal.get_window);
/// - "spectrogram": log(1 + magnitude), as deepspeech.pytorch;
/// - "log-mel": log(2^-24 + librosa.feature.melspectrogram), that is power, Slaney's mel scale and
///   area normalisation, 0 Hz to half the rate;
/// - then the utterance's one mean is subtracted and its one (unbiased) standard deviation divided
///   out; an utterance without any variation becomes zeros.
/// Of "waveform", frames are the samples, their mean subtracted and divided by √(variance +
/// features.epsilon). As transformers' ParakeetFeatureExtractor does with
///   kind = "log-mel", window_ms = 25, hop_ms = 10, fft = 512, window = "hann-symmetric",
///   preemphasis = 0.97, normalise = "channel", last_frame = false:
/// - before all, x[t] - preemphasis · x[t - 1];
/// - after all, each channel's own mean and (unbiased) deviation + 1e-5 over the utterance.
///
/// "fbank" is torchaudio.compliance.kaldi.fbank without dither, where window = "povey" and
/// preemphasis = 0.97 are Kaldi's: the mean of each window's samples is subtracted, and
/// pre-emphasis is within the window; power, triangles on the mel scale from 20 Hz on, and the
/// logarithm of at least 2^-23. As transformers' SeamlessM4TFeatureExtractor does with these and
///   window_ms = 25, normalise = "channel", stack = 2:
/// - each channel's mean is subtracted and divided by √(unbiased variance + features.epsilon);
/// - then two frames become one.
///
/// Not for two threads at once.
class FeatureExtractor {
 public:
  /// ConfigError as frame_geometry.
  explicit FeatureExtractor(const configs::FeatureConfig&);
  ~FeatureExtractor();
  FeatureExtractor(FeatureExtractor&&) noexcept;
  FeatureExtractor& operator=(FeatureExtractor&&) noexcept;

  /// Fills x_FC, feature_frames(samples) × feature_bins() numbers, frame by frame.
  /// ShapeError if it has another size.
  void extract(std::span<const float> samples, std::span<float> x_FC);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::runtime
