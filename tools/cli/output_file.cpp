#include "tools/cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/atomic_file.h"
#include "base/error.h"
#include "tools/cli/terminal.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

/// Returns true for regular files, in which one output would replace another. Devices and pipes
/// take both.
bool keeps_one_text(const fs::path& file) {
  std::error_code error;
  return !fs::exists(file, error) || fs::is_regular_file(file, error);
}

/// Returns the canonical path, which all names of a file share. A path that can't be resolved is
/// its own.
fs::path place(const std::string& path) {
  std::error_code error;
  const fs::path known = fs::weakly_canonical(fs::absolute(path), error);
  return error ? fs::path(path) : known;
}

/// Contents of PATH.progress.
struct ResultProgress {
  std::string made_by;
  std::string state;
  std::uint64_t bytes = 0;  // valid bytes of PATH
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ResultProgress, made_by, bytes, state)

std::optional<ResultProgress> read_progress(const std::string& path) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  try {
    return json.get<ResultProgress>();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

void check_outputs(std::initializer_list<NamedFile> written, const std::vector<NamedFile>& read) {
  std::map<fs::path, const char*> named;
  std::error_code error;
  for (const auto& [option, path] : read)
    if (fs::exists(path, error)) named.try_emplace(place(path), option);
  for (const auto& [option, path] : written) {
    if (path.empty()) continue;
    if (const std::string why = why_unwritable(path); !why.empty())
      throw ConfigError(fmt::format("{}: can't write {}: {}", option, path, why));
    if (!keeps_one_text(path)) continue;
    const auto [other, fresh] = named.try_emplace(place(path), option);
    if (!fresh)
      throw ConfigError(fmt::format("{} and {} both name {}: give each a file of its own",
                                    other->second, option, path));
  }
}

void write_output(const std::string& path, const std::string& text) {
  if (!atomic_write(path, text)) throw ConfigError(fmt::format("can't write {}", path));
}

std::string progress_file(const std::string& path) { return path + ".progress"; }

void check_result_file(const ResultFileOptions& options) {
  const std::string& path = options.path;
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return;
  if (!std::filesystem::is_regular_file(path, error))
    throw ConfigError(fmt::format("{}: {} is no file: name one", options.option, path));
  if (!options.resume)
    throw ConfigError(
        fmt::format("{}: {} is there already: go on with it by --resume, remove it, "
                    "or name another file",
                    options.option, path));
  if (!read_progress(progress_file(path)))
    throw ConfigError(
        fmt::format("{}: {} can't be gone on with: {} is missing or damaged. Remove "
                    "both, or name another file",
                    options.option, path, progress_file(path)));
}

// Two files must agree across a crash, and only one can be replaced atomically. So the lines are
// appended and flushed first, and PATH.progress is replaced afterwards; it says how many bytes of
// PATH count. A crash in between leaves lines that are not counted, which the next run cuts off and
// computes again. So no line is lost, doubled or torn.
ResultFile::ResultFile(const ResultFileOptions& options, const std::string& made_by)
    : path_(options.path), made_by_(made_by) {
  check_result_file(options);
  std::error_code error;
  if (std::filesystem::exists(path_, error)) go_on(options);
}

void ResultFile::go_on(const ResultFileOptions& options) {
  const ResultProgress progress = read_progress(progress_file(path_)).value();
  if (progress.made_by != made_by_)
    throw ConfigError(
        fmt::format("{}: {} holds results of something else: it is of\n  {}\nand this run of\n  "
                    "{}\nRemove it, or name another file",
                    options.option, path_, progress.made_by, made_by_));
  if (std::filesystem::file_size(path_) < progress.bytes)
    throw ConfigError(
        fmt::format("{}: {} has been cut: it holds {} bytes, but held {}. Remove it, "
                    "or name another file",
                    options.option, path_, std::filesystem::file_size(path_), progress.bytes));
  std::filesystem::resize_file(path_, progress.bytes);
  bytes_ = progress.bytes;
  state_ = progress.state;
}

// Flushes the lines before PATH.progress counts them, so it never counts lines that a crash may
// lose.
void ResultFile::append(std::string_view lines, const std::string& state) {
  if (file_ == nullptr) {
    write_progress();  // first: the file never exists without it
    file_ = std::make_unique<FileHandle>(path_, O_WRONLY | O_CREAT | O_APPEND);
  }
  auto left = std::as_bytes(std::span(lines));
  file_->write(left);
  bytes_ += lines.size();
  state_ = state;
  if (::fdatasync(file_->descriptor()) != 0) raise_errno(path_, "can't be written");
  write_progress();
}

void ResultFile::write_progress() {
  write_output(progress_file(path_),
               json_line(nlohmann::json(ResultProgress{made_by_, state_, bytes_})));
}

}  // namespace penstock::tools
