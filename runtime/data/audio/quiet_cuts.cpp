#include "runtime/data/audio/quiet_cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/error.h"

// Decoders that remember their own labels can't join frames of overlapping chunks. So a recording
// is cut between words: of the second half of what a part may last, at the middle of the 100 ms
// that have least energy. So Qwen3-ASR's own tools cut recordings (split_audio_into_chunks, which
// searches 5 s around its bound). It needs no threshold, so noise and gain of a recording do not
// matter, and it always ends: without any pause, a cut falls into the quietest sound.
//
// Energies are those of blocks of 10 ms. Of equally quiet moments the latest counts. The time is
// that of one pass over the samples.

namespace penstock::runtime {
namespace {

constexpr int kBlocksPerSecond = 100;
constexpr std::int64_t kWindow = 10;  // blocks
constexpr double kLeast = 0.5;        // seconds of a longest part

}  // namespace

QuietCuts::QuietCuts(int rate, double seconds)
    : block_(std::max(rate / kBlocksPerSecond, 1)),
      most_(static_cast<std::int64_t>(seconds * rate / static_cast<double>(block_))) {
  if (!(seconds >= kLeast))
    throw ConfigError(fmt::format(
        "--chunk {:g}: pauses are not searched in less than {:g} s: give a longer --chunk", seconds,
        kLeast));
}

void QuietCuts::add(float sample) {
  sum_ += static_cast<double>(sample) * sample;
  ++samples_;
  if (++in_block_ < block_) return;
  energies_.push_back(sum_);
  sum_ = 0;
  in_block_ = 0;
  if (std::ssize(energies_) > most_) cut();
}

// There is a block more than a part may have.
void QuietCuts::cut() {
  std::int64_t best = 0;  // block before which to cut
  double least = 0;
  for (std::int64_t first = most_ / 2; first + kWindow <= most_; ++first) {
    const auto window = energies_.begin() + first;
    const double energy = std::accumulate(window, window + kWindow, 0.0);
    if (best > 0 && energy > least) continue;
    least = energy;
    best = first + kWindow / 2;
  }
  parts_.push_back({begin_, best * block_});
  begin_ += best * block_;
  energies_.erase(energies_.begin(), energies_.begin() + best);
}

/// Moves the last cut back, into sound if need be, where the last part is too short for a model.
void QuietCuts::lengthen_last() {
  if (parts_.size() < 2) return;
  SampleRange &former = parts_[parts_.size() - 2], &last = parts_.back();
  const std::int64_t least = std::min(block_ * kBlocksPerSecond / 2, former.samples / 2);
  const std::int64_t moved = std::max<std::int64_t>(least - last.samples, 0);
  former.samples -= moved;
  last = {last.first - moved, last.samples + moved};
}

std::vector<SampleRange> QuietCuts::finish() {
  const std::int64_t blocks = most_ * block_;
  if (samples_ - begin_ > blocks) {
    energies_.resize(static_cast<std::size_t>(most_) + 1);
    cut();
  }
  if (samples_ > begin_) parts_.push_back({begin_, samples_ - begin_});
  lengthen_last();
  return parts_;
}

std::vector<SampleRange> cut_where_quiet(const std::filesystem::path& file,
                                         const SampleRange& range, double seconds) {
  constexpr std::int64_t kPiece = 1 << 18;  // samples in memory
  RangeReader reader;
  std::optional<QuietCuts> cuts;
  for (std::int64_t at = 0; at < range.samples; at += kPiece) {
    const Audio audio = reader.read(file, {range.first + at, std::min(kPiece, range.samples - at)});
    if (!cuts) cuts.emplace(audio.rate, seconds);
    for (const float sample : audio.samples) cuts->add(sample);
  }
  return cuts ? cuts->finish() : std::vector<SampleRange>();
}

}  // namespace penstock::runtime
