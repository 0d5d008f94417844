#include "runtime/data/manifest/foreign_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "runtime/data/manifest/excerpt.h"

// Files often hold something else than their name says. A download that was refused leaves a page
// of HTML under the name of the corpus, and a clone of Hugging Face's without Git LFS leaves
// pointers of three lines. All readers ask here, so that each of them says the same. The first
// bytes tell the kind, as in file(1)'s database; a text of an utterance begins with none of them.

namespace penstock::runtime {
namespace {

/// A kind of file: the bytes at a place of its beginning, what it is, and what to do. {0} stands
/// for the file.
struct ForeignKind {
  std::size_t at;
  std::string_view bytes;
  const char* description;
};

using namespace std::string_view_literals;

constexpr const char* kArrow =
    "is a table of Arrow: write it as Parquet, by Dataset.to_parquet() of Hugging Face's datasets, "
    "and convert that, by tools/parquet_manifest";
constexpr const char* kUtf16 =
    "is text of UTF-16, not UTF-8: convert it, by iconv -f UTF-16 -t UTF-8 {0}";
constexpr const char* kOtherSound =
    "is of a format that libsndfile cannot read: convert it, by ffmpeg -i {0} NAME.flac";
constexpr const char* kSound = "is a recording: name a manifest that lists it, or its folder";

constexpr ForeignKind kForeign[] = {
    {0, "PK\x03\x04"sv,
     "is a zip archive, as Excel's tables are too: unpack it, by unzip {0}, or save the table as "
     "CSV"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "is a 7z archive: unpack it, by 7z x {0}"},
    {0, "Rar!\x1a"sv, "is a RAR archive: unpack it, by unrar x {0}"},
    {0, "\x28\xb5\x2f\xfd"sv, "is compressed by zstd: unpack it, by zstd -d {0}"},
    {0, "\xfd\x37zXZ"sv, "is compressed by xz: unpack it, by xz -dk {0}"},
    {4, "1AY&SY"sv, "is compressed by bzip2: unpack it, by bzip2 -dk {0}"},
    {0, "\x04\x22\x4d\x18"sv, "is compressed by lz4: unpack it, by lz4 -d {0}"},
    {0, "PAR1\x15"sv, "is a Parquet file: convert it, by tools/parquet_manifest NAME.jsonl {0}"},
    {0, "ARROW1\0"sv, kArrow},
    {0, "\xff\xff\xff\xff"sv, kArrow},
    {0, "\xff\xfe"sv, kUtf16},
    {0, "\xfe\xff"sv, kUtf16},
    {4, "ftyp"sv, kOtherSound},              // MP4, M4A
    {0, "\x1a\x45\xdf\xa3"sv, kOtherSound},  // Matroska, WebM
    {0, "\x30\x26\xb2\x75"sv, kOtherSound},  // WMA
    {0, "#!AMR"sv, kOtherSound},
};

/// Kinds that are foreign only where text is expected.
constexpr ForeignKind kNoText[] = {
    {8, "WAVEfmt "sv, kSound}, {0, "fLaC\0"sv, kSound},
    {0, "OggS\0"sv, kSound},   {0, "ID3\x03"sv, kSound},
    {0, "ID3\x04"sv, kSound},  {0, "\xff\xfb"sv, kSound},
    {0, "NIST_1A"sv, kSound},  {256, "\0ustar"sv, "is a tar archive: unpack it, by tar -xf {0}"},
};

template <std::size_t N>
std::string describe(const ForeignKind (&kinds)[N], const std::filesystem::path& file,
                     std::string_view head) {
  for (const ForeignKind& kind : kinds)
    if (head.size() > kind.at && head.substr(kind.at).starts_with(kind.bytes))
      return fmt::format(fmt::runtime(kind.description), file.string());
  return {};
}

/// Returns what stands between two marks; "" if they do not both occur.
std::string between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  const std::size_t first = at + before.size(), end = text.find(after, first);
  if (end == std::string_view::npos) return {};
  std::string found = excerpt(text.substr(first, end - first), 80);
  std::ranges::replace(found, '\n', ' ');
  return found;
}

constexpr const char* kAdvice =
    ", not the file: the server refused it, or the link is to a page. Download it again, by a link "
    "to the file itself, with a token if it needs one";

/// Returns the bytes after a byte order mark and white space.
std::string_view without_blank(std::string_view head) {
  return head.substr(std::min(head.find_first_not_of(" \t\r\n\xef\xbb\xbf"), head.size()));
}

/// Describes a web page or XML; "" if these are not such bytes.
std::string describe_page(std::string_view head) {
  const std::string_view text = without_blank(head);
  std::string small(text.substr(0, 16));
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto named = [](const std::string& name) {
    return name.empty() ? name : fmt::format(" (\"{}\")", name);
  };
  if (small.starts_with("<!doctype html") || small.starts_with("<html"))
    return fmt::format("is a web page{}{}", named(between(text, "<title>", "</title>")), kAdvice);
  if (small.starts_with("<?xml"))
    return fmt::format("is XML{}{}", named(between(text, "<Code>", "</Code>")), kAdvice);
  return {};
}

/// Describes a server's answer, a single short line that is the whole file; "" if these are not
/// such bytes. Texts may begin as an answer does, and lines of JSON may have a key "error".
std::string describe_answer(std::string_view head) {
  constexpr std::size_t kLongest = 200;
  std::string_view text = without_blank(head);
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (text.size() > kLongest || text.find('\n') != std::string_view::npos ||
      text.find("\"audio_filepath\"") != std::string_view::npos)
    return {};
  for (const std::string_view answer :
       {"Entry not found", "Repository not found", "Invalid username or password",
        "Invalid credentials", "{\"error\":"})
    if (text.starts_with(answer))
      return fmt::format("is a server's answer ({}){}", excerpt(text, 80), kAdvice);
  return {};
}

/// Describes the kinds of files that no text of an utterance can begin as.
std::string describe_kind(const std::filesystem::path& file, std::string_view head) {
  if (head.starts_with("version https://git-lfs.github.com/spec/")) {
    const std::string bytes = between(head, "\nsize ", "\n");
    return fmt::format(
        "is a pointer of Git LFS, not the file{}: fetch it, by git lfs pull in its clone",
        bytes.empty() ? bytes : fmt::format(" of {} bytes", bytes));
  }
  const std::string page = describe_page(head);
  return page.empty() ? describe(kForeign, file, head) : page;
}

}  // namespace

std::string describe_foreign(const std::filesystem::path& file, std::string_view head) {
  const std::string kind = describe_kind(file, head);
  return kind.empty() ? describe_answer(head) : kind;
}

std::string describe_no_text(const std::filesystem::path& file, std::string_view head) {
  const std::string foreign = describe_foreign(file, head);
  return foreign.empty() ? describe(kNoText, file, head) : foreign;
}

std::string describe_no_transcript(const std::filesystem::path& file, std::string_view head) {
  const std::string kind = describe_kind(file, head);
  return kind.empty() ? describe(kNoText, file, head) : kind;
}

}  // namespace penstock::runtime
