#include "runtime/checkpoint/output_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/checkpoint/fault.h"

namespace penstock::runtime {
namespace {

constexpr std::string_view kPrefix = "checkpoint-";

}  // namespace

std::string checkpoint_name(std::int64_t step) { return fmt::format("{}{:09}", kPrefix, step); }

std::optional<std::int64_t> step_of_checkpoint(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string digits(name.substr(kPrefix.size()));
  if (digits.size() < 9 || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(digits);
}

std::vector<StoredCheckpoint> list_checkpoints(
    const std::filesystem::path& output, const std::function<void(const std::string&)>& report) {
  std::vector<StoredCheckpoint> found;
  std::error_code error, ignored;
  if (!std::filesystem::is_directory(output, error)) return found;
  for (std::filesystem::directory_iterator entry(output, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto step = step_of_checkpoint(entry->path().filename().string());
    if (!step) continue;
    if (entry->is_directory(ignored))
      found.push_back({*step, entry->path()});
    else
      report(fmt::format("{} is ignored: it has a checkpoint's name, but is no folder",
                         entry->path().string()));
  }
  if (error) throw_fault(output, fmt::format("can't be listed: {}", error.message()));
  std::ranges::sort(found, {}, &StoredCheckpoint::step);
  return found;
}

std::filesystem::path nearest_existing(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path existing = std::filesystem::absolute(path);
  while (!std::filesystem::exists(existing, error) && existing.has_relative_path())
    existing = existing.parent_path();
  return existing;
}

void remove_empty_folders(const std::filesystem::path& output, const std::filesystem::path& above) {
  std::error_code error;
  auto folder = std::filesystem::absolute(output);
  for (; folder != above && !error; folder = folder.parent_path())
    std::filesystem::remove(folder, error);
}

void probe_output(const std::filesystem::path& output) {
  std::error_code error;
  const std::filesystem::path existing = nearest_existing(output);
  make_output(output);
  const auto probe = output / ".probe";
  write_durably(probe, "written to see whether this folder can be written\n");
  if (!std::filesystem::remove(probe, error)) throw_fault(probe, "can't be removed");
  remove_empty_folders(output, existing);
}

void make_output(const std::filesystem::path& output) {
  std::error_code error;
  const std::filesystem::path existing = nearest_existing(output);
  if (!std::filesystem::is_directory(existing, error))
    throw_fault(output,
                fmt::format("can't be an output folder: {} is not a folder", existing.string()));
  std::filesystem::create_directories(output, error);
  if (error)
    throw FileError(output, fmt::format("{}: can't be made: {}", output.string(), error.message()),
                    static_cast<std::errc>(error.value()));
}

}  // namespace penstock::runtime
