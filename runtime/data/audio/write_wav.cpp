#include "runtime/data/audio/write_wav.h"

#include <fmt/format.h>
#include <sndfile.h>

#include <memory>
#include <system_error>

#include "base/file_handle.h"

namespace penstock::runtime {
namespace {

[[noreturn]] void throw_unwritten(const std::filesystem::path& file, const char* why) {
  throw FileError(file, fmt::format("{}: can't be written: {}", file.string(), why),
                  std::errc::io_error);
}

}  // namespace

void write_wav(const std::filesystem::path& file, std::span<const float> samples, int rate) {
  SF_INFO info = {};
  info.samplerate = rate;
  info.channels = 1;
  info.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
  const std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> out(sf_open(file.c_str(), SFM_WRITE, &info),
                                                        sf_close);
  if (!out) throw_unwritten(file, sf_strerror(nullptr));
  // The chunk of peaks has the time of writing.
  sf_command(out.get(), SFC_SET_ADD_PEAK_CHUNK, nullptr, SF_FALSE);
  const auto count = static_cast<sf_count_t>(samples.size());
  if (sf_write_float(out.get(), samples.data(), count) != count)
    throw_unwritten(file, sf_strerror(out.get()));
  sf_command(out.get(), SFC_UPDATE_HEADER_NOW, nullptr, 0);
  sf_write_sync(out.get());
  if (sf_error(out.get()) != SF_ERR_NO_ERROR) throw_unwritten(file, sf_strerror(out.get()));
}

}  // namespace penstock::runtime
