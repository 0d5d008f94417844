#pragma once

#include <string>

#include "runtime/data/file_range.h"

namespace penstock::runtime {

/// What a sound file's container says to be missing at its end, "" if it is whole as far as the
/// container can tell. libsndfile trims such lengths silently, so they are looked up here:
/// - RIFF (WAV): bytes of the data chunk beyond the end of the file; a size of 0 or 2^32 - 1, as
///   left by programs that write to a pipe, promises nothing;
/// - NIST SPHERE: sample_count × channel_count × sample_n_bytes beyond the end, if not compressed;
/// - Ogg: a last page that is cut or not marked as the end of its stream.
/// FLAC and MP3 (if it has a Xing or Info header) promise samples, which a full decoding counts.
[[nodiscard]] std::string missing_end(const FileRange& file);

}  // namespace penstock::runtime
