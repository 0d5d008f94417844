#include "runtime/huggingface/new_folder.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "base/error.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/folders.h"

namespace penstock::runtime {
namespace {

/// "a/b/" as "a/b", absolute.
std::filesystem::path without_slash(std::filesystem::path path) {
  path = std::filesystem::absolute(path).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

NewFolder::NewFolder(std::filesystem::path path) : path_(without_slash(std::move(path))) {
  partial_ = path_;
  partial_ += ".partial";
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(path_, error)))
    throw_fault(path_, "is there already: name a folder that is not, or remove it");
  std::filesystem::remove_all(partial_, error);  // what a process that died left
  if (!error) std::filesystem::create_directories(partial_, error);
  if (error) throw_fault(partial_, fmt::format("can't be made: {}", error.message()));
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!partial_.empty()) std::filesystem::remove_all(partial_, ignored);
}

void NewFolder::commit() {
  move_folder(partial_, path_);
  partial_.clear();
}

}  // namespace penstock::runtime
