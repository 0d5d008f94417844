#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "configs/config.h"

namespace penstock::runtime {

/// The frame sizes of a FeatureConfig, converted to samples.
struct FrameGeometry {
  std::int64_t window = 0;  // samples under the window
  std::int64_t hop = 0;     // samples from one frame to the next
  std::int64_t fft = 0;     // samples transformed; the window is centred in them, or at their
                            // start in fbank
};

/// Converts a configuration's milliseconds to samples. Throws ConfigError if its keys contradict
/// each other.
FrameGeometry frame_geometry(const configs::FeatureConfig&);

/// Returns the heights of a window of `size` samples. `name` is a value of features.window.
[[nodiscard]] std::vector<double> make_window(const std::string& name, std::int64_t size);

/// Returns the samples up to which shorter utterances are padded with silence.
[[nodiscard]] std::int64_t min_samples(const configs::FeatureConfig&);

/// Returns the channels of a frame: fft / 2 + 1 for a spectrogram, 1 for a waveform, `mels` for
/// others, multiplied by features.stack.
[[nodiscard]] int feature_bins(const configs::FeatureConfig&);

/// Returns the frames of an utterance of `samples` at the configuration's rate:
/// - spectrogram and log-mel: frames are centred on samples 0, hop, 2 hop, …, as in
///   librosa.stft(center=True): 1 + (samples + 2 (fft / 2) - fft) / hop, less 1 without
///   features.last_frame;
/// - fbank: frames lie within the utterance (Kaldi's snip_edges): 1 + (samples - window) / hop;
/// - whisper: samples / hop; whisper-30s is the same of at least 30 s, and whisper-0.5s of at least
///   half a second;
/// - waveform: each sample is a frame.
/// Except for a waveform, the number is divided by features.stack and is at least 1: an utterance
/// that is too short is padded with silence.
[[nodiscard]] std::int64_t feature_frames(std::int64_t samples, const configs::FeatureConfig&);

/// Computes feature_frames() for many utterances; converts the configuration once. The constructor
/// throws ConfigError like frame_geometry().
class FeatureFrames {
 public:
  explicit FeatureFrames(const configs::FeatureConfig&);
  [[nodiscard]] std::int64_t operator()(std::int64_t samples) const;
  /// Returns the frames before each group of `features.stack` becomes one. Not defined for
  /// waveforms.
  [[nodiscard]] std::int64_t before_stacking(std::int64_t samples) const;

 private:
  bool waveform_, fbank_, last_frame_;
  std::int64_t stack_, min_samples_;
  FrameGeometry geometry_ = {};
};

/// Computes features from audio, as librosa does:
/// - the short-time Fourier transform of librosa.stft: centred, zeros beyond both ends, a periodic
///   window (scipy.signal.get_window);
/// - "spectrogram": log(1 + magnitude), as deepspeech.pytorch;
/// - "log-mel": log(2^-24 + librosa.feature.melspectrogram): power, Slaney's mel scale and area
///   normalisation, 0 Hz to half the rate;
/// - then the whole utterance is normalised by its mean and its (unbiased) standard deviation; an
///   utterance without any variation becomes zeros.
/// For "waveform", the frames are the samples, normalised to (x - mean) / √(variance +
/// features.epsilon).
///
/// The result equals transformers' ParakeetFeatureExtractor with
///   kind = "log-mel", window_ms = 25, hop_ms = 10, fft = 512, window = "hann-symmetric",
///   preemphasis = 0.97, normalise = "channel", last_frame = false:
/// - first, samples become x[t] - preemphasis · x[t - 1];
/// - last, each channel is normalised by its own mean and (unbiased) deviation + 1e-5 over the
///   utterance.
///
/// "fbank" is torchaudio.compliance.kaldi.fbank without dither. window = "povey" and preemphasis =
/// 0.97 are Kaldi's. The mean of each window's samples is subtracted, and pre-emphasis acts within
/// the window. Power, triangles on the mel scale from 20 Hz on, and the logarithm of at least 2^-23
/// follow.
///
/// The result equals transformers' SeamlessM4TFeatureExtractor with these and
///   window_ms = 25, normalise = "channel", stack = 2:
/// - each channel's mean is subtracted and divided by √(unbiased variance + features.epsilon);
/// - then two frames become one.
///
/// "whisper" is transformers' WhisperFeatureExtractor without padding, with window_ms = 25, hop_ms
/// = 10 and window = "hann"; "whisper-30s" pads shorter utterances with silence to 30 s, as it does
/// by default. "whisper-0.5s" pads to half a second, as Qwen3ASRFeatureExtractor does. The samples
/// are mirrored at both ends, filters are those of log-mel, and the last frame is left out. A
/// number is log10 of at least 1e-10. Those more than 8 below the largest of the utterance become
/// that, and (x + 4) / 4 follows. Nothing else is normalised.
///
/// Not thread-safe.
class FeatureExtractor {
 public:
  /// Throws ConfigError like frame_geometry().
  explicit FeatureExtractor(const configs::FeatureConfig&);
  ~FeatureExtractor();
  FeatureExtractor(FeatureExtractor&&) noexcept;
  FeatureExtractor& operator=(FeatureExtractor&&) noexcept;

  /// Fills x_FC with feature_frames(samples) × feature_bins() numbers, frame by frame. Throws
  /// ShapeError if x_FC has another size.
  void extract(std::span<const float> samples, std::span<float> x_FC);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::runtime
