#include "runtime/data/index/measure_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/parallel.h"
#include "runtime/data/audio/audio.h"
#include "runtime/data/manifest/tar_member.h"

namespace penstock::runtime {
namespace {

using Time = std::chrono::steady_clock;

constexpr auto kLongest = std::chrono::seconds(2);  // the most work that a killed run loses

/// Packs a length. An error names the file.
PackedLength packed(const std::filesystem::path& file, const AudioLength& length) try {
  return PackedLength(length);
} catch (const DataError& error) {
  throw DataError(fmt::format("{}: {}", manifest_name(file), error.what()));
}

RecordingAnswer answer(const RecordingQuery& query, const RecordingMeasure& options) {
  const auto file = options.folder / query.path;
  RecordingAnswer found{.stamp = stamp_of(file_holding(file))};
  if (query.length.known() && found.stamp == query.stamp) {
    found.length = query.length;
    return found;
  }
  try {
    found.length = packed(file, options.decode ? measure_audio(file) : audio_length(file));
  } catch (const DataError& error) {
    found.fault = error.what();
  }
  return found;
}

}  // namespace

// The caller asks again for those without an answer. The first query is answered however long it
// takes, so each call makes progress.
RecordingAnswers measure_recordings(std::span<const RecordingQuery> queries,
                                    const RecordingMeasure& options) {
  const auto end = Time::now() + kLongest;
  RecordingAnswers answers(queries.size());
  parallel_for(queries.size(), options.threads, [&](std::size_t i) {
    if (i == 0 || Time::now() < end) answers[i] = answer(queries[i], options);
  });
  return answers;
}

}  // namespace penstock::runtime
