#pragma once

namespace penstock {

/// Bytes of this machine's memory, whoever uses it.
[[nodiscard]] double host_memory();

}  // namespace penstock
