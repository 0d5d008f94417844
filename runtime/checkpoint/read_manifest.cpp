#include "runtime/checkpoint/read_manifest.h"

#include "base/error.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/mapped_file.h"

namespace penstock::runtime {

Manifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kManifestFile;
  const MappedFile file(path);
  try {
    const std::span<const std::byte> bytes = file.bytes();
    return parse_manifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const Error& error) {
    throw_fault(path, error.what());
  }
}

}  // namespace penstock::runtime
