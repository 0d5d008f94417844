#include "runtime/data/audio/audio.h"

#include <fmt/format.h>
#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/audio/audio_file.h"
#include "runtime/data/manifest/foreign_file.h"
#include "runtime/data/manifest/missing_manifest.h"
#include "runtime/data/manifest/tar.h"
#include "runtime/data/manifest/tar_member.h"

// Audio is read by libsndfile, from a file or from a range of a tar, and its channels are averaged
// into one. Training needs exact lengths, so a header is trusted only as far as it is exact:
//
//   format                                 the length comes from
//   kTellTheirLength                       the header, if the last sample can be decoded
//   others, or that sample is missing      decoding everything
//
// A file that is cut, or has numbers that are no sound, is a DataError that names it. A single
// infinite sample would spoil all features of its utterance, so every sample is checked.

namespace penstock::runtime {
namespace {

constexpr sf_count_t kBlock = 16384;  // frames decoded at a time

// The largest magnitude a sample may have. Sound lies between -1 and 1 or, if it is scaled badly,
// in the range of 32-bit integers. Up to this bound, the power of any spectrum is a finite FP32
// number.
constexpr float kLoudest = 1e10f;

// Formats whose header holds the exact number of samples.
constexpr int kTellTheirLength[] = {SF_FORMAT_WAV, SF_FORMAT_WAVEX, SF_FORMAT_RF64,
                                    SF_FORMAT_W64, SF_FORMAT_FLAC,  SF_FORMAT_AIFF,
                                    SF_FORMAT_CAF, SF_FORMAT_AU,    SF_FORMAT_NIST};

struct CloseFile {
  void operator()(SNDFILE* file) const { sf_close(file); }
};
using File = std::unique_ptr<SNDFILE, CloseFile>;

[[noreturn]] void throw_unusable(const std::filesystem::path& file, const std::string& reason) {
  throw DataError(fmt::format("{}: {}", manifest_name(file), reason));
}

/// Opens the bytes of a file or, if `recording` is a member of a tar, the member's range alone.
/// Throws DataError if the bytes cannot be used, or if the tar has been replaced since it was
/// indexed.
FileRange bytes_of(const std::filesystem::path& recording) {
  const auto member = tar_member(recording.native());
  const std::filesystem::path& file = member ? member->tar : recording;
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) throw_unusable(recording, describe_missing_recording(file));
  if (std::filesystem::is_directory(status))
    throw_unusable(recording, "a folder, not an audio file");
  if (!std::filesystem::is_regular_file(status))
    throw_unusable(recording, "a pipe or device, not an audio file");
  FileRange bytes(file);
  if (member && !holds(bytes, *member))
    throw_unusable(recording,
                   "no longer lies where it was indexed: the tar has changed. Index its manifest "
                   "anew, by penstock data index");
  if (member) bytes.narrow(member->first, member->bytes);
  if (bytes.size() == 0) throw_unusable(recording, "empty file");
  if (const std::string missing = missing_end(bytes); !missing.empty())
    throw_unusable(recording, fmt::format("truncated: {}", missing));
  return bytes;
}

/// Throws DataError for a file that libsndfile refuses. Its first bytes may tell what it is.
[[noreturn]] void throw_not_audio(const std::filesystem::path& file, const std::string& reason) {
  const std::string foreign =
      describe_foreign(manifest_name(file), bytes_of(file).read(0, kForeignHead));
  throw_unusable(
      file, "not audio that libsndfile can read: " + (foreign.empty() ? reason : "it " + foreign));
}

/// Adapts a member of a tar to libsndfile's virtual I/O.
struct MemberStream {
  explicit MemberStream(FileRange range) : bytes(std::move(range)) {}

  static MemberStream& of(void* user) { return *static_cast<MemberStream*>(user); }
  sf_count_t seek(sf_count_t offset, int whence) {
    const std::int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? at : bytes.size();
    if (base + offset < 0) return -1;
    at = base + offset;
    return at;
  }
  sf_count_t read(void* out, sf_count_t count) {
    const sf_count_t done =
        bytes.read(at, {static_cast<char*>(out), static_cast<std::size_t>(count)});
    at += done;
    return done;
  }
  static SF_VIRTUAL_IO calls() {
    SF_VIRTUAL_IO calls = {};
    calls.get_filelen = [](void* user) -> sf_count_t { return of(user).bytes.size(); };
    calls.seek = [](sf_count_t offset, int whence, void* user) {
      return of(user).seek(offset, whence);
    };
    calls.read = [](void* out, sf_count_t count, void* user) { return of(user).read(out, count); };
    calls.write = [](const void*, sf_count_t, void*) -> sf_count_t { return 0; };
    calls.tell = [](void* user) -> sf_count_t { return of(user).at; };
    return calls;
  }

  FileRange bytes;
  std::int64_t at = 0;
};

float mean(const float* frame, int channels) {
  float sum = 0;
  for (int c = 0; c < channels; ++c) sum += frame[c];
  return sum / static_cast<float>(channels);
}

/// An open sound file.
struct Sound {
  explicit Sound(const std::filesystem::path& path) : path(path) {
    FileRange bytes = bytes_of(path);
    if (tar_member(path.native())) {
      SF_VIRTUAL_IO calls = MemberStream::calls();
      member = std::make_unique<MemberStream>(std::move(bytes));
      file.reset(sf_open_virtual(&calls, SFM_READ, &info, member.get()));
    } else {
      file.reset(sf_open(path.c_str(), SFM_READ, &info));
    }
    if (!file) throw_not_audio(path, sf_strerror(nullptr));
    if (info.samplerate <= 0)
      throw_unusable(path, fmt::format("its sample rate is {}", info.samplerate));
  }

  /// Decodes the samples from `at` up to `end` and passes each mixed sample to `sink`. Returns the
  /// sample at which decoding ended, which is earlier if the file ends earlier.
  template <class Sink>
  std::int64_t decode(std::int64_t at, std::int64_t end, Sink&& sink) const {
    std::vector<float> block(static_cast<std::size_t>(kBlock * info.channels));
    while (at < end) {
      const sf_count_t frames =
          sf_readf_float(file.get(), block.data(), std::min<sf_count_t>(kBlock, end - at));
      if (frames <= 0) break;
      for (sf_count_t i = 0; i < frames; ++i) {
        const float sample = mean(block.data() + i * info.channels, info.channels);
        if (!std::isfinite(sample))
          throw_unusable(path, fmt::format("sample {} is not a finite number", at + i));
        if (std::abs(sample) > kLoudest)
          throw_unusable(path, fmt::format("sample {} is {:g}, but sound lies between -1 and 1",
                                           at + i, sample));
        sink(sample);
      }
      at += frames;
    }
    if (sf_error(file.get()) != SF_ERR_NO_ERROR)
      throw_unusable(
          path, fmt::format("cannot be decoded after sample {}: {}", at, sf_strerror(file.get())));
    return at;
  }

  /// Returns true if decoding from the middle gives the same samples as decoding from the start. In
  /// MP3, Ogg and GSM, samples depend on earlier ones, and libsndfile's seek may be inexact.
  bool can_be_entered() const {
    const int container = info.format & SF_FORMAT_TYPEMASK;
    return info.seekable != 0 && container != SF_FORMAT_MPEG && container != SF_FORMAT_OGG &&
           (info.format & SF_FORMAT_SUBMASK) != SF_FORMAT_GSM610;
  }

  /// Returns true if this sample can be decoded. A header may promise more samples than the file
  /// holds.
  bool has(std::int64_t sample) const {
    std::vector<float> mixed(static_cast<std::size_t>(info.channels));
    return sf_seek(file.get(), sample, SEEK_SET) == sample &&
           sf_readf_float(file.get(), mixed.data(), 1) == 1;
  }

  /// Returns true if the header holds the number of samples. A FLAC stream may lack it.
  bool tells_its_length() const {
    const int container = info.format & SF_FORMAT_TYPEMASK;
    return info.seekable != 0 && info.frames != SF_COUNT_MAX &&
           std::ranges::find(kTellTheirLength, container) != std::end(kTellTheirLength);
  }

  std::filesystem::path path;
  SF_INFO info = {};
  std::unique_ptr<MemberStream> member;  // declared before the file, which reads it
  File file;
};

[[noreturn]] void throw_short(const std::filesystem::path& file, std::int64_t at,
                              std::int64_t end) {
  throw_unusable(
      file, fmt::format("ends at sample {}, but a segment needs {}", at, counted(end, "sample")));
}

/// Decodes a range of a recording that has just been opened.
Audio decode_range(const Sound& sound, const SampleRange& range) {
  const std::int64_t end = range.first + range.samples;
  std::int64_t at = sound.can_be_entered() ? sf_seek(sound.file.get(), range.first, SEEK_SET) : 0;
  if (at < 0 || at > range.first)
    throw_unusable(sound.path, fmt::format("cannot be read from sample {} on", range.first));
  Audio audio;
  audio.rate = sound.info.samplerate;
  at = sound.decode(at, range.first, [](float) {});
  at = sound.decode(at, end, [&](float sample) { audio.samples.push_back(sample); });
  if (at < end) throw_short(sound.path, at, end);
  return audio;
}

/// Decodes the whole file and passes every mixed sample to `sink`.
template <class Sink>
AudioLength decode(const std::filesystem::path& file, Sink&& sink) {
  const Sound sound(file);
  const std::int64_t samples = sound.decode(0, SF_COUNT_MAX, sink);
  // libsndfile reports SF_COUNT_MAX for a stream of unknown length.
  if (sound.info.frames != SF_COUNT_MAX && samples < sound.info.frames)
    throw_unusable(file,
                   fmt::format("truncated: its header promises {}, but only {} can be decoded",
                               counted(sound.info.frames, "sample"), samples));
  if (samples == 0) throw_unusable(file, "has no samples");
  return {samples, sound.info.samplerate};
}

}  // namespace

Audio read_audio(const std::filesystem::path& file) {
  Audio audio;
  audio.rate = decode(file, [&](float sample) { audio.samples.push_back(sample); }).rate;
  return audio;
}

/// A recording that is decoded from its start on, and the samples of the range that went furthest.
struct RangeReader::Open {
  explicit Open(const std::filesystem::path& file) : sound(file) {}

  /// Decodes up to a range, and the range. Samples that it shares with the last one are there.
  Audio read(const SampleRange& range) {
    const std::int64_t end = range.first + range.samples;
    Audio audio{{}, sound.info.samplerate};
    for (std::int64_t i = range.first; i < std::min(at, end); ++i)
      audio.samples.push_back(last[static_cast<std::size_t>(i - first)]);
    if (end <= at) return audio;
    at = sound.decode(at, range.first, [](float) {});
    at = sound.decode(at, end, [&](float sample) { audio.samples.push_back(sample); });
    if (at < end) throw_short(sound.path, at, end);
    first = range.first;
    last = audio.samples;
    return audio;
  }

  Sound sound;
  std::int64_t at = 0;      // samples that are decoded
  std::int64_t first = 0;   // sample at which `last` begins
  std::vector<float> last;  // ends at `at`
};

RangeReader::RangeReader() = default;
RangeReader::~RangeReader() = default;
RangeReader::RangeReader(RangeReader&&) noexcept = default;
RangeReader& RangeReader::operator=(RangeReader&&) noexcept = default;

// Whatever is thrown closes the recording.
Audio RangeReader::read(const std::filesystem::path& file, const SampleRange& range) {
  std::unique_ptr<Open> open = std::move(open_);
  if (!open || open->sound.path != file || range.first < open->first) {
    open = std::make_unique<Open>(file);
    if (open->sound.can_be_entered()) return decode_range(open->sound, range);
  }
  const std::int64_t before = open->at;
  Audio audio = open->read(range);
  decoded_ += open->at - before;
  open_ = std::move(open);
  return audio;
}

Audio read_audio(const std::filesystem::path& file, const SampleRange& range) {
  return decode_range(Sound(file), range);
}

AudioLength measure_audio(const std::filesystem::path& file) {
  return decode(file, [](float) {});
}

AudioLength audio_length(const std::filesystem::path& file) {
  const Sound sound(file);
  if (!sound.tells_its_length()) return measure_audio(file);
  if (sound.info.frames == 0) throw_unusable(file, "has no samples");
  if (!sound.has(sound.info.frames - 1)) return measure_audio(file);  // its error names the end
  return {sound.info.frames, sound.info.samplerate};
}

}  // namespace penstock::runtime
