#include "tools/output_file.h"

#include "configs/config.h"
#include "partition/write_whole.h"

namespace penstock {

void write_output(const std::string& path, const std::string& text) {
  if (!write_whole(path, text)) throw ConfigError("can't write " + path);
}

}  // namespace penstock
