#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// Bytes of a file's beginning that describe_foreign() looks at, at most.
inline constexpr std::size_t kForeignHead = 4096;

/// Describes what a file is, judged by its first bytes, if it can be neither a manifest, a text, a
/// plain tar nor a recording that libsndfile reads: "is a web page, …: download it again". It says
/// what to do; "" if the bytes show nothing of the kind.
[[nodiscard]] std::string describe_foreign(const std::filesystem::path& file,
                                           std::string_view head);

/// Describes the same where text is expected: recordings and tars are foreign there as well.
[[nodiscard]] std::string describe_no_text(const std::filesystem::path& file,
                                           std::string_view head);

/// Describes the same for the file of a single transcript. A server's answer is not foreign there:
/// "Entry not found" may be what was said.
[[nodiscard]] std::string describe_no_transcript(const std::filesystem::path& file,
                                                 std::string_view head);

}  // namespace penstock::runtime
