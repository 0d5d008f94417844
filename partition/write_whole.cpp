#include "partition/write_whole.h"

#include <fstream>

namespace penstock {
namespace {

bool write(const std::filesystem::path& file, std::string_view text) {
  std::ofstream out(file, std::ios::trunc);
  out << text;
  return static_cast<bool>(out.flush());
}

}  // namespace

bool write_whole(const std::filesystem::path& file, std::string_view text) {
  std::error_code error;
  const bool known = std::filesystem::exists(file, error);
  const auto target = known ? std::filesystem::canonical(file, error) : file;
  if (known && !std::filesystem::is_regular_file(target, error)) return write(target, text);
  auto partial = target;
  partial += ".partial";
  const bool written = write(partial, text);
  if (written) std::filesystem::rename(partial, target, error);
  if (written && !error) return true;
  std::filesystem::remove(partial, error);
  return false;
}

}  // namespace penstock
