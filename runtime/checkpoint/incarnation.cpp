#include "runtime/checkpoint/incarnation.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "base/atomic_file.h"
#include "base/file_handle.h"
#include "runtime/checkpoint/fault.h"

namespace penstock::runtime {
namespace {

constexpr const char* kFile = ".incarnation";

}  // namespace

std::int64_t last_incarnation(const std::filesystem::path& output) try {
  const std::string text = read_file(output / kFile);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1 || end + 1 != text.data() + text.size())
    throw_fault(output / kFile, "holds no number of an incarnation: remove the file");
  return number;
} catch (const FileError& error) {
  if (!error.missing()) throw;
  return 0;
}

std::int64_t begin_incarnation(const std::filesystem::path& output) {
  const std::int64_t number = last_incarnation(output) + 1;
  AtomicFile file(output / kFile);
  file.write(fmt::format("{}\n", number));
  file.commit();
  return number;
}

void require_incarnation(const std::filesystem::path& output, std::int64_t own) {
  if (own == 0) return;
  if (const std::int64_t last = last_incarnation(output); last != own)
    throw CheckpointError(
        fmt::format("{}: incarnation {} has taken over from {}, which may not write here any more",
                    output.string(), last, own));
}

}  // namespace penstock::runtime
