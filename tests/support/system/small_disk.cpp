#include "tests/support/system/small_disk.h"

#include <sched.h>
#include <sys/mount.h>

#include <string>

namespace penstock::test {

SmallDisk::SmallDisk(std::size_t bytes) {
  if (::unshare(CLONE_NEWNS) != 0) return;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
  const std::string size = "size=" + std::to_string(bytes);
  mounted_ = ::mount("none", path().c_str(), "tmpfs", 0, size.c_str()) == 0;
}

SmallDisk::~SmallDisk() {
  if (mounted_) ::umount2(path().c_str(), MNT_DETACH);
}

}  // namespace penstock::test
