#include "runtime/data/index/measure_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/parallel.h"
#include "runtime/data/audio/audio.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/data/remote/remote_files.h"
#include "runtime/data/remote/remote_url.h"

namespace penstock::runtime {
namespace {

using Time = std::chrono::steady_clock;

constexpr auto kLongest = std::chrono::seconds(2);  // the most work that a killed run loses
constexpr int kDownloads = 16;                      // at a time

/// Packs a length. An error names the file.
PackedLength packed(const std::filesystem::path& file, const AudioLength& length) try {
  return PackedLength(length);
} catch (const DataError& error) {
  throw DataError(fmt::format("{}: {}", manifest_name(file), error.what()));
}

RecordingAnswer answer(const RecordingQuery& query, const RecordingMeasure& options) {
  RemoteFiles* const files = options.files;
  const auto file =
      files == nullptr ? options.folder / query.path : files->path(options.folder, query.path);
  if (files != nullptr) (void)files->look_up(file_holding(file));
  RecordingAnswer found{.stamp = stamp_of(file_holding(file))};
  if (query.length.known() && found.stamp == query.stamp) {
    found.length = query.length;
    return found;
  }
  try {
    const LocalFile local = open_by(files, file);
    found.length =
        packed(file, options.decode ? measure_audio(local.path) : audio_length(local.path));
  } catch (const DataError& error) {
    found.fault = files == nullptr ? error.what() : files->with_names(error.what());
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
  const bool remote = std::ranges::any_of(queries, [&](const RecordingQuery& query) {
    return is_remote_url(query.path) ||
           (options.files != nullptr && options.files->holds(options.folder / query.path));
  });
  const int threads = remote ? std::max(options.threads, kDownloads) : options.threads;
  parallel_for(queries.size(), threads, [&](std::size_t i) {
    if (i == 0 || Time::now() < end) answers[i] = answer(queries[i], options);
  });
  return answers;
}

}  // namespace penstock::runtime
