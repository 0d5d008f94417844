#pragma once

#include <filesystem>
#include <string>

namespace penstock::test {

/// Writes so many utterances beside `manifest`, and the manifest. Every letter of their texts is a
/// tone of its own, so that a small model learns them in seconds.
void write_tone_corpus(const std::filesystem::path& manifest, int utterances, unsigned seed);

/// A recipe in TOML for such a corpus: 20 steps of a small model with dropout and three speeds, in
/// 2 lanes.
std::string tone_recipe(const std::filesystem::path& train, const std::filesystem::path& validation,
                        const std::filesystem::path& output);

}  // namespace penstock::test
