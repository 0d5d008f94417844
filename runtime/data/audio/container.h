#pragma once

#include <string>

#include "runtime/data/audio/file_range.h"

namespace penstock::runtime {

/// Describes the data that a sound file's container promises but the file lacks; "" if nothing is
/// missing as far as the container can tell. libsndfile trims such lengths silently, so they are
/// checked here:
/// - RIFF (WAV): the data chunk ends beyond the file. A size of 0 or 2^32 - 1, which programs that
///   write to a pipe leave, promises nothing.
/// - NIST SPHERE: sample_count × channel_count × sample_n_bytes ends beyond the file, if it is not
///   compressed.
/// - Ogg: the last page is cut or not marked as the end of its stream.
/// FLAC and MP3 (with a Xing or Info header) promise samples, which a full decoding counts.
[[nodiscard]] std::string missing_end(const FileRange& file);

}  // namespace penstock::runtime
