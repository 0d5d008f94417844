#include "tools/cli/result_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/error.h"
#include "tools/cli/json_line.h"
#include "tools/cli/output_file.h"

namespace penstock::tools {
namespace {

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
