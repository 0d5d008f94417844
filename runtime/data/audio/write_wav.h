#pragma once

#include <filesystem>
#include <span>

namespace penstock::runtime {

/// Writes samples as a WAV file of one channel and 32-bit floating-point numbers, which keep every
/// bit, also beyond ±1. The same samples give the same bytes. Throws FileError.
void write_wav(const std::filesystem::path& file, std::span<const float> samples, int rate);

}  // namespace penstock::runtime
