#include "runtime/recognise/audio_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "runtime/data/audio/features.h"
#include "runtime/data/batch/batching.h"
#include "runtime/recognise/frame_shift.h"

// A recording of hours is heard in chunks that overlap, as by transformers' pipeline
// (chunk_length_s, stride_length_s) and NeMo's buffered inference. Near the ends of a chunk the
// model lacks what lies beyond. So of the frames that two neighbours share, the first half counts
// from the former and the second half from the latter:
//
//   chunk 0    [ counted            | skipped ]
//   chunk 1              [ skipped  | counted       | skipped ]
//   chunk 2                                [ skipped| counted          ]
//
// Frames at the loss lie `row` samples apart. A chunk begins a whole number of rows after the one
// before, which must be whole samples of the file as well: so frames of all chunks lie on the grid
// of the recording. The last chunk is moved back, to end with the recording and to be nearly as
// long as the others.
//
// All follows from lengths by whole numbers, so all ranks cut alike.

namespace penstock::runtime {
namespace {

/// Samples of a file from one beginning of a chunk to the next possible one, and the frames at the
/// loss between these.
struct Grid {
  std::int64_t samples = 1, rows = 1;
};

Grid chunk_grid(int file_rate, std::int64_t joined, const configs::FeatureConfig& features) {
  const Resampling ratio = resampling(file_rate, features.sample_rate);
  const std::int64_t hop =
      features.kind == "waveform" ? 1 : frame_geometry(features).hop * features.stack;
  const std::int64_t row = joined * hop;  // samples at the features' rate
  const std::int64_t rows = ratio.to / std::gcd(ratio.to, row * ratio.from);
  return {rows * row * ratio.from / ratio.to, rows};
}

std::int64_t samples_in(double seconds, int rate) {
  return static_cast<std::int64_t>(std::floor(seconds * rate + 1e-6));
}

}  // namespace

AudioChunks::AudioChunks(const Chunking& chunking, const partition::LayerSequence& sequence,
                         const configs::FeatureConfig& features)
    : chunking_(chunking),
      sequence_(sequence),
      features_(features),
      joined_(joined_frames(sequence)) {
  const AudioLength chunk{samples_in(chunking.seconds, features.sample_rate), features.sample_rate};
  if (const std::int64_t padded = min_samples(features); chunk.samples < padded) {
    const double seconds = static_cast<double>(padded) / features.sample_rate;
    throw ConfigError(
        fmt::format("--chunk {:g}: the model's features pad what it hears to {:g} s: give --chunk "
                    "{:g}, or more",
                    chunking.seconds, seconds, seconds));
  }
  try {
    (void)cut({2 * chunk.samples, chunk.rate});
  } catch (const ShapeError& misfit) {
    throw ConfigError(fmt::format("--chunk {:g}: so many seconds do not fit the model: {}",
                                  chunking.seconds, misfit.what()));
  } catch (const DataError& misfit) {
    throw ConfigError(misfit.what());
  }
}

bool AudioChunks::cuts(const AudioLength& length) const {
  return length.samples > samples_in(chunking_.seconds, length.rate);
}

std::int64_t AudioChunks::rows(const AudioLength& length) const {
  const std::int64_t frames = shape_utterance(0, length, 1, features_).frames;
  return partition::output_frames(sequence_, std::vector{frames}).front();
}

std::vector<AudioChunk> AudioChunks::cut(const AudioLength& length) const {
  const Grid grid = chunk_grid(length.rate, joined_, features_);
  const std::int64_t size = samples_in(chunking_.seconds, length.rate);
  const std::int64_t rows_of_chunk = rows({size, length.rate});
  const std::int64_t shared = samples_in(chunking_.shared_seconds(), length.rate);
  const std::int64_t steps = std::min((size - shared) / grid.samples, rows_of_chunk / grid.rows);
  if (steps < 1)
    throw DataError(fmt::format(
        "--chunk {:g} --overlap {:g}: a chunk has less than {:.6g} s of its own at {} Hz: give a "
        "longer --chunk, or a shorter --overlap",
        chunking_.seconds, chunking_.shared_seconds(),
        static_cast<double>(grid.samples) / length.rate, length.rate));
  const std::int64_t last = (length.samples - size + grid.samples - 1) / grid.samples;
  std::vector<AudioChunk> chunks;
  for (std::int64_t at = 0, counted = 0;; at = std::min(at + steps, last)) {
    const std::int64_t first = at * grid.samples, begin = at * grid.rows;
    AudioChunk chunk{{first, std::min(size, length.samples - first)}};
    const std::int64_t end =
        begin + (at < last ? rows_of_chunk : rows({chunk.samples.samples, length.rate}));
    const std::int64_t next = std::min(at + steps, last) * grid.rows;
    const std::int64_t until = at < last ? (next + end) / 2 : end;
    chunk.skipped = counted - begin;
    chunk.counted = until - counted;
    chunks.push_back(chunk);
    counted = until;
    if (at == last) return chunks;
  }
}

// The exact number follows from samples. This one may be higher by a frame or two, and is no lower.
std::int64_t AudioChunks::output_frames(std::int64_t frames) const {
  const std::int64_t chunk =
      shape_utterance(0,
                      {samples_in(chunking_.seconds, features_.sample_rate), features_.sample_rate},
                      1, features_)
          .frames;
  const std::int64_t rest = std::max<std::int64_t>(frames - chunk, 0);
  return partition::output_frames(sequence_, std::vector{frames - rest}).front() +
         (rest > 0 ? rest / joined_ + 1 : 0);
}

}  // namespace penstock::runtime
