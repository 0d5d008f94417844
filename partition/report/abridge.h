#pragma once

#include <string>

namespace penstock::partition {

/// Whether a report is still readable, and not too large, with so many replicas of so many passes.
bool has_room_for(int replicas, int passes);

/// "conv1", or "conv1 to rnn2 (5)"; long names are cut short.
std::string layer_names(const std::string& first, const std::string& last, int count);

}  // namespace penstock::partition
